// A picture, a sound or a film of a message: what it is, what it costs, and all of it for who opens it.
import { useEffect, useRef, useState } from 'preact/hooks';
import type { MediaInfo } from 'lapidary';
import { useApp } from '../../app.js';
import { sentence } from '../../chat/answer.js';
import { useObserved } from '../../store/observable.js';
import { keptFile } from '../../store/media.js';
import { isFile, type FilePart, type StoredFile } from '../../store/parts.js';
import { settings } from '../../store/settings.js';
import type { PartProps } from '../../shell/feature.js';
import { Icon, IconButton } from '../../views/icons.js';
import { clock, details, inPieces, tokens, type Detail } from './words.js';
import './media.css';

export function Media({ part, onChange }: PartProps) {
    return isFile(part) ? <Tile part={part} onChange={onChange} /> : null;
}

interface TileProps {
    part: FilePart;
    onChange: PartProps['onChange'];
}

function Tile({ part, onChange }: TileProps) {
    const url = useFile(part.file);
    const dialog = useRef<HTMLDialogElement>(null);
    const cost = useCost(part, onChange !== undefined);
    const { name } = part.file;
    const alt = (part.type === 'image' && part.alt) || name;
    // The cost goes with the message, for when the model is another one.
    useEffect(() => {
        if (onChange && cost.info && part.tokens !== cost.info.tokens) onChange({ ...part, tokens: cost.info.tokens });
    }, [cost.info]);
    return (
        <div class="media">
            {part.type === 'audio' ? (
                <span class="thumbnail">
                    <Icon name="microphone" />
                </span>
            ) : (
                <button type="button" class="thumbnail" aria-label={`Show ${name}`} onClick={() => dialog.current?.showModal()}>
                    {url ? <img src={url} alt={alt} /> : <Icon name="file" />}
                </button>
            )}
            <div class="facts">
                <span class="name" dir="auto">
                    {name}
                </span>
                <span class={cost.problem ? 'problem' : 'cost'}>
                    {cost.problem ?? costWords(part, cost.info)}
                    {part.type === 'image' && onChange && !cost.problem && (
                        <select
                            aria-label={`How closely ${name} is looked at`}
                            value={part.detail ?? 'auto'}
                            onChange={({ currentTarget }) => onChange({ ...part, detail: currentTarget.value as Detail })}
                        >
                            {Object.entries(details).map(([detail, word]) => (
                                <option key={detail} value={detail}>
                                    {word}
                                </option>
                            ))}
                        </select>
                    )}
                </span>
                {part.type === 'audio' && url && <audio controls src={url} aria-label={name} />}
            </div>
            {part.type !== 'audio' && (
                <dialog ref={dialog} class="full-picture" aria-label={name}>
                    <IconButton icon="close" label="Close" onClick={() => dialog.current?.close()} />
                    {part.type === 'video' ? <Frames part={part} /> : url && <img src={url} alt={alt} />}
                    {part.type === 'image' && onChange && (
                        <label>
                            What it shows, for who cannot see it
                            <input value={part.alt ?? ''} dir="auto" onChange={({ currentTarget }) => onChange({ ...part, alt: currentTarget.value })} />
                        </label>
                    )}
                </dialog>
            )}
        </div>
    );
}

function Frames({ part }: { part: FilePart & { type: 'video' } }) {
    return (
        <ol class="frames">
            {part.frames.map(({ file, seconds }, at) => (
                <li key={at}>
                    <Frame file={file} />
                    {clock(seconds)}
                </li>
            ))}
        </ol>
    );
}

function Frame({ file }: { file: StoredFile }) {
    const url = useFile(file);
    return url ? <img src={url} alt="" /> : null;
}

function costWords(part: FilePart, info: MediaInfo | undefined): string {
    const count = info?.tokens ?? part.tokens;
    const facts = [
        part.type === 'video' && part.seconds !== undefined ? clock(part.seconds) : '',
        info?.type === 'audio' ? clock(info.seconds) : '',
        count === undefined ? '' : tokens(count),
        info?.type === 'audio' && info.pieces > 1 ? inPieces(info.pieces) : '',
    ];
    return facts.filter((fact) => fact !== '').join(' · ');
}

/** Asked of the model that answers, while the message is not sent. */
function useCost(part: FilePart, wanted: boolean): { info?: MediaInfo; problem?: string } {
    const { engine } = useApp();
    const { info: model, name } = useObserved(engine.state);
    const { useEndpoint } = useObserved(settings);
    const [cost, setCost] = useState<{ info?: MediaInfo; problem?: string }>({});
    const detail = part.type === 'image' ? part.detail : undefined;
    useEffect(() => {
        if (!wanted || useEndpoint || !model) return;
        const leave = new AbortController();
        engine.call('measure', part, undefined, leave.signal).then(
            (info) => setCost({ info }),
            (error: unknown) => leave.signal.aborted || setCost({ problem: sentence(error) }),
        );
        return () => leave.abort();
    }, [part.file.digest, detail, wanted, useEndpoint, model, name]);
    return cost;
}

/** An address of it, as long as it is shown. */
function useFile({ digest }: StoredFile): string | undefined {
    const [url, setUrl] = useState<string>();
    useEffect(() => {
        let address: string | undefined;
        let gone = false;
        void keptFile(digest).then((blob) => {
            if (!blob || gone) return;
            address = URL.createObjectURL(blob);
            setUrl(address);
        });
        return () => {
            gone = true;
            if (address) URL.revokeObjectURL(address);
        };
    }, [digest]);
    return url;
}
