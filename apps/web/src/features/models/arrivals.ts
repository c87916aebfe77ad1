// Says that a model is here, where nobody would see it otherwise.
import { useEffect } from 'preact/hooks';
import { useApp, type App } from '../../app.js';
import { library } from './here.js';
import { announce, notify } from '../../views/notices.js';
import * as words from './words.js';

let watching = false;
/** How many views show the state of downloads. */
let showing = 0;

/** For a view that shows it by itself. */
export function useArrivals(): void {
    const app = useApp();
    useEffect(() => {
        watch(app);
        showing++;
        return () => void showing--;
    }, []);
}

function watch(app: App): void {
    if (watching) return;
    watching = true;
    let last = library.view.value.arrived;
    library.view.subscribe(({ arrived }) => {
        if (!arrived || arrived === last) return;
        last = arrived;
        const said = words.isHere(arrived.title);
        if (showing > 0) return announce(said);
        notify(said, { label: words.answerWithIt, run: () => app.loadModel({ kind: 'kept', ...arrived }) });
    });
}
