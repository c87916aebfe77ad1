// What was tried and cannot be used, said where one looks for the answer, and that the chat goes on.
import { useState } from 'preact/hooks';
import { useApp } from '../app.js';
import { useObserved } from '../store/observable.js';
import { settings } from '../store/settings.js';
import { Icon, IconButton } from './icons.js';
import * as words from './model-words.js';

export function Refusal() {
    const app = useApp();
    const { engine } = app;
    const { refused, name, coming } = useObserved(engine.state);
    const { useEndpoint } = useObserved(settings);
    const [dismissed, setDismissed] = useState<typeof refused>();
    if (!refused || coming || refused === dismissed || useEndpoint) return null;
    const { again } = refused;
    return (
        <div class="say-so bad refusal" role="alert">
            <Icon name="warning" />
            <p>
                <b dir="auto">{words.cannotBeUsed(refused.name)}</b> {refused.problem} {words.goesOn(name, refused.kept)}
                {again && (
                    <>
                        {' '}
                        <button type="button" class="link" onClick={() => app.loadModel(again)}>
                            {words.loadAgain}
                        </button>
                    </>
                )}
            </p>
            <IconButton icon="close" label={words.dismiss} onClick={() => setDismissed(refused)} />
        </div>
    );
}

/** The file of the last visit: the browser wants to be asked. */
export function FileAgain() {
    const app = useApp();
    const again = useObserved(app.fileAgain);
    if (!again) return null;
    return (
        <div class="say-so file-again" role="status">
            <Icon name="file" />
            <div>
                <p>{words.openedFromFile(again.name, again.canOpen)}</p>
                <p class="acts">
                    {again.canOpen && (
                        <button type="button" class="link" onClick={() => void app.openFileAgain()}>
                            {words.openAgain}
                        </button>
                    )}
                    <button type="button" class="link" onClick={() => app.forgetFile()}>
                        {words.forgetFile}
                    </button>
                </p>
            </div>
        </div>
    );
}
