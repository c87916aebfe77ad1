// Which model answers, which could, and what is kept of them on this device.
import { listServedModels, type Probe, type ServedModel } from 'lapidary';
import { useEffect } from 'preact/hooks';
import { useApp } from '../../app.js';
import { useObserved } from '../../store/observable.js';
import { library } from './here.js';
import type { PageProps } from '../../shell/feature.js';
import { AnsweringNow } from './answering.js';
import { useArrivals } from './arrivals.js';
import { BringYourOwn } from './bring.js';
import { Catalogue } from './catalogue.js';
import { FoundModels } from './folder.js';
import { KeptHere } from './kept.js';
import * as words from './words.js';
import { PageFrame } from '../../views/page.js';
import { FileAgain, Refusal } from '../../views/refusal.js';
import { useTask } from '../../views/use-task.js';
import './models.css';

export function ModelsPage({ onMenu }: PageProps) {
    const { engine } = useApp();
    const state = useObserved(engine.state);
    const probe = useTask<Probe | undefined>();
    useArrivals();
    useEffect(() => {
        probe.run(async () => (await engine.call('diagnostics', undefined)).probe);
        void library.refresh();
    }, []);
    return (
        <PageFrame onMenu={onMenu} title={words.title} intro={words.intro}>
            <Refusal />
            <FileAgain />
            <AnsweringNow state={state} probe={probe.result} />
            <Catalogue probe={probe.result} library={library} />
            <BringYourOwn probe={probe.result} library={library} />
            <LocalOllama probe={probe.result} />
            <KeptHere library={library} />
        </PageFrame>
    );
}

/** What the Ollama on this computer has, as the server that brought this page tells; nothing when it does not. */
function LocalOllama({ probe }: { probe: Probe | undefined }) {
    const app = useApp();
    const task = useTask<ServedModel[]>();
    useEffect(() => task.run(async (signal) => await listServedModels(location.origin, { signal })), []);
    // Whoever did not bring this page with lapidary serve has no use for a word about it.
    if (!task.result) return null;
    return (
        <section>
            <div class="section-head">
                <h2>{words.onThisComputer}</h2>
            </div>
            {task.result.length === 0 && <p class="faint">{words.noOllama}</p>}
            <FoundModels models={task.result} probe={probe} onLoad={(model) => app.loadModel({ kind: 'ollama', model })} />
        </section>
    );
}
