// The gem: a brilliant cut seen from the side. Its facets light up one after the other as a model loads.

// Crown above the girdle, pavilion below; listed in the order in which light fills the stone.
const facets = [
    { d: 'M60 98L48 42 72 42z', tone: 1 },
    { d: 'M60 98L6 42 48 42z', tone: 3 },
    { d: 'M60 98L114 42 72 42z', tone: 4 },
    { d: 'M6 42L28 18 48 42z', tone: 2 },
    { d: 'M28 18L60 18 48 42z', tone: 1 },
    { d: 'M60 18L72 42 48 42z', tone: 0 },
    { d: 'M60 18L92 18 72 42z', tone: 2 },
    { d: 'M92 18L114 42 72 42z', tone: 3 },
];

/** `filled` from 0 to 1: how much of it shines. */
export function Gem({ filled = 1, busy = false }: { filled?: number; busy?: boolean }) {
    const lit = Math.round(filled * facets.length);
    return (
        <svg class={`gem${busy ? ' busy' : ''}`} viewBox="0 8 120 96" aria-hidden="true">
            {facets.map(({ d, tone }, index) => (
                <path key={d} d={d} class={`facet tone-${tone}${index < lit ? ' lit' : ''}`} />
            ))}
        </svg>
    );
}
