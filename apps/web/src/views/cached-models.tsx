// What this browser keeps of models, and how to be rid of it.
import { useEffect } from 'preact/hooks';
import { useApp } from '../app.js';
import { cachedModels, type CachedModel, type StorageUse } from '../engine/cached.js';
import { useObserved } from '../store/observable.js';
import { formatBytes } from './format.js';
import { notify } from './notices.js';
import { useTask } from './use-task.js';

export function CachedModels() {
    const task = useTask<{ models: CachedModel[]; use: StorageUse | undefined }>();
    const { phase } = useObserved(useApp().engine.state);
    const look = () => task.run(async () => await cachedModels());
    // Something may have been downloaded meanwhile.
    useEffect(look, [phase]);
    const { models = [], use } = task.result ?? {};
    const remove = async (model: CachedModel) => {
        try {
            await model.remove();
            notify(`'${model.name}' was removed from this browser.`);
        } catch (error) {
            notify(error instanceof Error ? error.message : String(error));
        }
        look();
    };
    return (
        <section>
            <h2>Kept in this browser</h2>
            {use && (
                <p class="faint">
                    {formatBytes(use.used)} used{use.quota > 0 ? ` of ${formatBytes(use.quota)} allowed` : ''}.
                    {use.persistent ? '' : ' The browser may clear it when the disk is full.'}
                </p>
            )}
            {models.length === 0 ? (
                <p class="faint">{task.running ? 'Looking…' : 'Nothing yet.'}</p>
            ) : (
                <ul class="model-list">
                    {models.map((model) => (
                        <li key={model.id}>
                            <div>
                                <strong>{model.name}</strong>
                                <span class="faint">
                                    {formatBytes(model.bytes)} · {model.note}
                                </span>
                            </div>
                            <button
                                type="button"
                                class="button"
                                aria-label={`Delete ${model.name}`}
                                onClick={() => void remove(model)}
                            >
                                Delete
                            </button>
                        </li>
                    ))}
                </ul>
            )}
        </section>
    );
}
