// How the loss falls: what was trained on, and what was kept back. Drawn by hand; the same in words and as a table for
// those who do not see it.
import { useEffect, useId, useRef, useState } from 'preact/hooks';

type Points = readonly (readonly [step: number, loss: number])[];

interface Props {
    losses: Points;
    validations: Points;
    /** Where the axis ends. */
    steps: number;
}

const usualWidth = 640;
const height = 220;
const edge = { left: 36, right: 12, top: 12, bottom: 26 };
const rowsInTable = 12;

export function LossChart({ losses, validations, steps }: Props) {
    const id = useId();
    const frame = useRef<HTMLElement>(null);
    const width = useWidth(frame);
    const all = [...losses, ...validations].map(([, loss]) => loss).filter(Number.isFinite);
    const ticks = niceTicks(Math.min(0, ...all), Math.max(1e-3, ...all));
    const top = ticks.at(-1) ?? 1;
    const x = (step: number) => edge.left + ((width - edge.left - edge.right) * step) / Math.max(1, steps);
    const y = (loss: number) => height - edge.bottom - ((height - edge.top - edge.bottom) * loss) / top;
    const line = (points: Points) => points.map(([step, loss]) => `${x(step).toFixed(1)},${y(loss).toFixed(1)}`).join(' ');
    const even = smoothed(losses);
    const last = even.at(-1);
    return (
        <figure class="loss-chart" ref={frame}>
            <svg width={width} height={height} viewBox={`0 0 ${width} ${height}`} role="img" aria-labelledby={id}>
                <title id={id}>{inWords(losses, validations)}</title>
                {ticks.map((tick) => (
                    <g key={tick}>
                        <line class="grid" x1={edge.left} x2={width - edge.right} y1={y(tick)} y2={y(tick)} />
                        <text class="tick" x={edge.left - 8} y={y(tick) + 4} text-anchor="end">
                            {tick}
                        </text>
                    </g>
                ))}
                {stepTicks(steps).map((step) => (
                    <text key={step} class="tick" x={x(step)} y={height - 8} text-anchor={step === steps ? 'end' : 'middle'}>
                        {step}
                    </text>
                ))}
                <polyline class="each" points={line(losses)} />
                <polyline class="train" points={line(even)} />
                <polyline class="validation" points={line(validations)} />
                {validations.map(([step, loss]) => (
                    <circle key={step} class="validation" cx={x(step)} cy={y(loss)} r={2.5} />
                ))}
                {last && <circle class="train" cx={x(last[0])} cy={y(last[1])} r={3.5} />}
            </svg>
            <figcaption>
                <span class="key train">Training loss</span>
                {validations.length > 0 && <span class="key validation">Validation loss</span>}
                <details>
                    <summary>As a table</summary>
                    <table>
                        <thead>
                            <tr>
                                <th scope="col">Step</th>
                                <th scope="col">Loss</th>
                            </tr>
                        </thead>
                        <tbody>
                            {chosen(losses).map(([step, loss]) => (
                                <tr key={step}>
                                    <td>{step}</td>
                                    <td>{loss.toFixed(3)}</td>
                                </tr>
                            ))}
                        </tbody>
                    </table>
                </details>
            </figcaption>
        </figure>
    );
}

/** As wide as there is room: letters keep their size on a phone. */
function useWidth(frame: { current: HTMLElement | null }): number {
    const [width, setWidth] = useState(usualWidth);
    useEffect(() => {
        const observer = new ResizeObserver(([entry]) => {
            if (entry) setWidth(Math.max(200, Math.floor(entry.contentRect.width)));
        });
        if (frame.current) observer.observe(frame.current);
        return () => observer.disconnect();
    }, []);
    return width;
}

export function inWords(losses: Points, validations: Points): string {
    const [first, last] = [losses[0], losses.at(-1)];
    if (!first || !last) return 'The loss: no step has been made yet';
    const held = validations.at(-1);
    const more = held ? `; on examples kept back it is ${held[1].toFixed(2)}` : '';
    return `The loss went from ${first[1].toFixed(2)} at step ${first[0]} to ${last[1].toFixed(2)} at step ${last[0]}${more}`;
}

/** A mean that follows: single steps jump with the examples they are made of. */
export function smoothed(points: Points): [number, number][] {
    const keep = points.length > 100 ? 0.9 : 0.6;
    let mean: number | undefined;
    return points.map(([step, loss]) => {
        mean = mean === undefined ? loss : mean * keep + loss * (1 - keep);
        return [step, mean];
    });
}

/** Round numbers from `low` (0 or less) to at least `high`. */
export function niceTicks(low: number, high: number): number[] {
    const rough = (high - Math.min(0, low)) / 4;
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = power * ([1, 2, 2.5, 5, 10].find((factor) => factor * power >= rough) ?? 10);
    const ticks: number[] = [];
    for (let tick = 0; ticks.length === 0 || (ticks.at(-1) ?? 0) < high; tick += step) {
        ticks.push(Number(tick.toPrecision(6)));
    }
    return ticks;
}

function stepTicks(steps: number): number[] {
    const inner = niceTicks(0, Math.max(4, steps)).filter((step) => Number.isInteger(step) && step < steps * 0.93);
    return [...inner, steps];
}

function chosen(points: Points): Points {
    const every = Math.max(1, Math.ceil(points.length / rowsInTable));
    return points.filter((_, i) => i % every === 0 || i === points.length - 1);
}
