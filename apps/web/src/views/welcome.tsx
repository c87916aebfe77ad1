// The first thing one sees: the stone, a sentence, and a few ways to begin.
import { useApp } from '../app.js';
import { useObserved } from '../store/observable.js';
import { settings } from '../store/settings.js';
import { Gem } from './gem.js';
import { loadedShare } from './model-chip.js';

const stories = ['A story about a brave little fox', 'A dragon who is afraid of fire', 'Who are you?'];
const questions = ['Explain how tides work, briefly', 'Write a haiku about cut gems', 'Plan a weekend in the mountains'];

export function Welcome({ onPick }: { onPick: (text: string) => void }) {
    const state = useObserved(useApp().engine.state);
    const { useEndpoint, endpoint } = useObserved(settings);
    const builtin = !useEndpoint && (state.wish === undefined || state.wish.choice.kind === 'builtin');
    return (
        <div class="welcome">
            <Gem filled={useEndpoint ? 1 : loadedShare(state)} busy={!useEndpoint && state.phase === 'loading'} />
            <p class="title">Lapidary</p>
            <p class="motto">
                {useEndpoint
                    ? `Your words go to ${hostOf(endpoint.url)}, and nowhere else.`
                    : 'A language model in this tab. Nothing you write leaves your device.'}
            </p>
            <ul class="starters" aria-label="Ways to begin">
                {(builtin ? stories : questions).map((text) => (
                    <li key={text}>
                        <button type="button" onClick={() => onPick(text)}>
                            {text}
                        </button>
                    </li>
                ))}
            </ul>
        </div>
    );
}

function hostOf(url: string): string {
    try {
        return new URL(url).host;
    } catch {
        return 'the endpoint in the settings';
    }
}
