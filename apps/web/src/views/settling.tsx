// A canvas while it settles: words that may still change are pale, those that are kept are firm, and newly so for a step.
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { Draft } from '../store/conversation.js';
import { Gem } from './gem.js';
import '../styles/settling.css';
import { wordsOf, type DraftWord } from './settling-words.js';

export function Settling({ draft }: { draft: Draft }) {
    const still = useStillness();
    const words = wordsOf(draft);
    const before = useRef<readonly DraftWord[]>([]);
    const firmBefore = (index: number) => {
        const word = before.current[index];
        return word !== undefined && word.firm && word.text === words[index]?.text;
    };
    const kinds = words.map((word, index) => (!word.firm ? 'pale' : firmBefore(index) ? 'firm' : 'firm new'));
    useEffect(() => {
        before.current = words;
    });
    // What follows keeps its place while words come and go.
    const frame = useRef<HTMLParagraphElement>(null);
    const tallest = useRef(0);
    useLayoutEffect(() => {
        const element = frame.current;
        if (!element) return;
        tallest.current = Math.max(tallest.current, element.scrollHeight);
        element.style.minHeight = `${tallest.current}px`;
    });
    const counted = words.filter(({ text }) => text.trim() !== '');
    const firm = counted.filter((word) => word.firm).length;
    return (
        <div class="settling">
            <p class="settle-line">
                <Gem busy />
                <span>Settling, step {draft.step}</span>
                <progress max={draft.tokens} value={draft.settled} aria-label="Settled" />
                <span>
                    {firm} of {counted.length} words firm
                </span>
            </p>
            {!still && (
                <p ref={frame} class="draft" aria-hidden="true" dir="auto">
                    {words.map((word, index) => (
                        <span key={index} class={kinds[index]}>
                            {word.text}
                        </span>
                    ))}
                </p>
            )}
        </div>
    );
}

/** Whether the person wants nothing to move: then canvases appear when they are done. */
function useStillness(): boolean {
    const [query] = useState(() => matchMedia('(prefers-reduced-motion: reduce)'));
    const [still, setStill] = useState(query.matches);
    useEffect(() => {
        const look = () => setStill(query.matches);
        query.addEventListener('change', look);
        return () => query.removeEventListener('change', look);
    }, [query]);
    return still;
}
