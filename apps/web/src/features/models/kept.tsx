// What this device keeps of models, and how to be rid of it.
import { useEffect, useState } from 'preact/hooks';
import { useApp } from '../../app.js';
import { sentence } from '../../chat/answer.js';
import { builtinBytes } from '../../engine/builtin.js';
import { cachedModels, type CachedModel, type StorageUse } from '../../engine/cached.js';
import type { Library } from './library.js';
import { useObserved } from '../../store/observable.js';
import { formatBytes } from '../../views/format.js';
import { notify } from '../../views/notices.js';
import { useTask } from '../../views/use-task.js';
import * as words from './words.js';

export function KeptHere({ library }: { library: Library }) {
    const app = useApp();
    const { phase, wish } = useObserved(app.engine.state);
    const { kept = [], keeps } = useObserved(library.view);
    const task = useTask<{ models: CachedModel[]; use: StorageUse | undefined }>();
    const keys = kept.flatMap(({ files }) => files.flatMap(({ key }) => key ?? []));
    const look = () => task.run(async () => await cachedModels(new Set(keys)));
    // Something may have been downloaded meanwhile.
    useEffect(look, [phase, keys.join()]);
    const { models = [], use } = task.result ?? {};
    const builtin = models.find((model) => model.builtin);

    const remove = async (name: string, work: () => Promise<unknown>) => {
        try {
            await work();
            notify(words.removed(name));
        } catch (error) {
            notify(sentence(error));
        }
        await library.refresh();
        look();
    };
    const answers = (name: string) => wish?.choice.kind === 'kept' && wish.choice.name === name && phase !== 'failed';
    return (
        <section>
            <div class="section-head">
                <h2>{words.keptHere}</h2>
                {use && (
                    <span class="faint num">
                        {[words.used(use.used, use.quota), use.persistent ? words.promised : ''].filter(Boolean).join(' · ')}
                    </span>
                )}
            </div>
            {!keeps && <p class="say-so warn">{words.noPlace}</p>}
            {use && keeps && !use.persistent && <Persistence onChange={look} />}
            <ul class="model-list">
                {kept.map(({ name, title, have, bytes, state, checked, licence, quantisation }) => {
                    const complete = state === 'complete';
                    const size = complete ? formatBytes(have) : words.partly(have, bytes);
                    const facts = [size, quantisation, licence?.name, complete && (checked ? words.verified : words.notVerified)];
                    return (
                        <KeptRow
                            key={name}
                            title={title}
                            about={facts.filter(Boolean).join(' · ')}
                            onUse={complete && !answers(name) ? () => app.loadModel({ kind: 'kept', name, title }) : undefined}
                            onRemove={() => {
                                if (answers(name)) notify(words.inUse(title));
                                else void remove(title, async () => await library.remove(name));
                            }}
                        />
                    );
                })}
                <KeptRow
                    title={words.builtinName}
                    about={words.builtinAbout(builtinBytes)}
                    onUse={wish?.choice.kind === 'builtin' && phase !== 'failed' ? undefined : () => app.loadModel({ kind: 'builtin' })}
                    onRemove={builtin && (() => void remove(words.builtinName, builtin.remove))}
                />
                {models.filter((model) => !model.builtin).map((model) => (
                    <KeptRow
                        key={model.id}
                        title={model.name}
                        about={`${formatBytes(model.bytes)} · ${model.note}`}
                        onUse={undefined}
                        onRemove={() => void remove(model.name, model.remove)}
                    />
                ))}
            </ul>
        </section>
    );
}

interface KeptRowProps {
    title: string;
    about: string;
    onUse: (() => void) | undefined;
    onRemove: (() => void) | undefined;
}

function KeptRow({ title, about, onUse, onRemove }: KeptRowProps) {
    return (
        <li>
            <div>
                <strong dir="auto">{title}</strong>
                <span class="faint">{about}</span>
            </div>
            <div class="buttons">
                {onUse && (
                    <button type="button" class="button" aria-label={words.named(words.answerWithIt, title)} onClick={onUse}>
                        {words.answerWithIt}
                    </button>
                )}
                {onRemove && (
                    <button type="button" class="button quiet" aria-label={`${words.remove} ${title}`} onClick={onRemove}>
                        {words.remove}
                    </button>
                )}
            </div>
        </li>
    );
}

function Persistence({ onChange }: { onChange: () => void }) {
    const [refused, setRefused] = useState(false);
    const ask = async () => {
        const granted = await (navigator.storage as StorageManager | undefined)?.persist?.();
        if (granted) onChange();
        else setRefused(true);
    };
    return (
        <p class="faint persistence">
            {refused ? words.notPromised : words.mayBeCleared}{' '}
            {!refused && (
                <button type="button" class="link" onClick={() => void ask()}>
                    {words.askNotTo}
                </button>
            )}
        </p>
    );
}
