// The first thing one sees: the stone and a sentence, and below the composer a few ways to begin and what is offered.
import type { Probe } from 'lapidary';
import { useEffect } from 'preact/hooks';
import { useApp } from '../app.js';
import { features } from '../shell/features.js';
import { offerIsOver } from '../store/remembered.js';
import { useObserved } from '../store/observable.js';
import { settings } from '../store/settings.js';
import { Gem } from './gem.js';
import { lazyView } from './lazy-view.js';
import { loadedShare } from './model-chip.js';
import { useTask } from './use-task.js';
import * as words from './welcome-words.js';

export function Welcome() {
    const state = useObserved(useApp().engine.state);
    const { useEndpoint, endpoint } = useObserved(settings);
    return (
        <div class="welcome">
            <Gem filled={useEndpoint ? 1 : loadedShare(state)} busy={!useEndpoint && state.phase === 'loading'} />
            <p class="title">{words.title}</p>
            <p class="motto">{useEndpoint ? words.wordsGoTo(hostOf(endpoint.url)) : words.motto}</p>
        </div>
    );
}

// What it takes to offer something is not needed for the first answer.
const offers = features.flatMap(({ id, offer }) => (offer ? [[id, lazyView(offer)] as const] : []));

/** Where nothing would fit, not even the script that offers it is fetched. */
function OfferIfAny() {
    const { engine } = useApp();
    const probe = useTask<Probe | undefined>();
    const over = offerIsOver();
    useEffect(() => {
        if (!over) probe.run(async () => (await engine.call('diagnostics', undefined)).probe);
    }, []);
    const { result } = probe;
    return !over && result?.models.some(({ fits }) => fits) ? offers.map(([id, Offer]) => <Offer key={id} probe={result} />) : null;
}

export function WelcomeBelow({ onPick }: { onPick: (text: string) => void }) {
    const { phase, wish } = useObserved(useApp().engine.state);
    const { useEndpoint } = useObserved(settings);
    const builtin = !useEndpoint && (wish === undefined || wish.choice.kind === 'builtin');
    return (
        <div class="below">
            <ul class="starters" aria-label={words.beginnings}>
                {(builtin ? words.stories : words.questions).map((text) => (
                    <li key={text}>
                        <button type="button" onClick={() => onPick(text)}>
                            {text}
                        </button>
                    </li>
                ))}
            </ul>
            <div class="offer-place">{!useEndpoint && phase === 'ready' && builtin && <OfferIfAny />}</div>
        </div>
    );
}

function hostOf(url: string): string {
    try {
        return new URL(url).host;
    } catch {
        return words.unknownHost;
    }
}
