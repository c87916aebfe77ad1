// Between "Get" and the first byte: what exactly comes, from where, and under which terms. Opens in the row.
import { projectorOf, withProjector, type ResolvedModel } from 'lapidary/hub';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { Task } from '../../views/use-task.js';
import * as words from './words.js';
import '../../styles/getting.css';

interface LicenceProps {
    asked: Task<ResolvedModel>;
    /** Asks its source again. */
    onAgain: () => void;
    onAgree: (model: ResolvedModel) => void;
    onClose: () => void;
}

export function LicencePanel({ asked, onAgain, onAgree, onClose }: LicenceProps) {
    const panel = useRef<HTMLDivElement>(null);
    // It took the place of the button that was pressed.
    useEffect(() => panel.current?.focus(), []);
    const { result: found, problem } = asked;
    const projector = found && projectorOf(found);
    const [media, setMedia] = useState(!onMobileData());
    const model = found && media ? withProjector(found) : found;
    return (
        <div class="licence wide" ref={panel} tabIndex={-1} role="group" aria-label={words.licence}>
            {problem !== undefined && (
                <p class="problem" role="alert">
                    {problem}
                </p>
            )}
            {asked.running && <p class="faint">{words.looking}</p>}
            {model && <Terms model={model} />}
            {projector && !model?.gated && (
                <label class="with-media">
                    <input type="checkbox" checked={media} onChange={(event) => setMedia(event.currentTarget.checked)} />{' '}
                    {words.withMedia(projector.bytes)}
                </label>
            )}
            <p class="buttons">
                {problem !== undefined && (
                    <button type="button" class="button" onClick={onAgain}>
                        {words.tryAgain}
                    </button>
                )}
                {model && !model.gated && model.problem === undefined && (
                    <button type="button" class="button primary" onClick={() => onAgree(model)}>
                        {model.licence?.mustAgree === false ? words.getIt : words.agreeAndGet}
                    </button>
                )}
                <button type="button" class="button quiet" onClick={onClose}>
                    {words.notNow}
                </button>
            </p>
        </div>
    );
}

function Terms({ model }: { model: ResolvedModel }) {
    const { licence, page, files, bytes, checked, gated, problem } = model;
    const host = hostOf(files[0]?.url);
    return (
        <>
            {licence ? (
                <>
                    <p>
                        <b>{licence.name}</b>{' '}
                        {licence.url !== '' && (
                            <a class="link" href={licence.url} target="_blank" rel="noopener noreferrer">
                                {words.readLicence}
                            </a>
                        )}
                    </p>
                    <ul class="terms">
                        {licence.summary.map((line) => (
                            <li key={line}>{line}</li>
                        ))}
                    </ul>
                </>
            ) : (
                <p>{words.noLicence}</p>
            )}
            <p class="faint">
                {words.fromHost(bytes, host)} {words.checkedBy(checked)}{' '}
                {onMobileData() && bytes !== undefined && words.overMobileData(bytes)}{' '}
                {page !== undefined && (
                    <a class="link" href={page} target="_blank" rel="noopener noreferrer">
                        {words.page}
                    </a>
                )}
            </p>
            {gated && <p class="problem">{words.gated}</p>}
            {problem !== undefined && <p class="problem">{words.cannotBeHere(problem)}</p>}
        </>
    );
}

function onMobileData(): boolean {
    return (navigator as { connection?: { type?: string } }).connection?.type === 'cellular';
}

function hostOf(url: string | undefined): string {
    try {
        return new URL(url ?? '').host;
    } catch {
        return '';
    }
}
