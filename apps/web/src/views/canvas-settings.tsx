// How models that write by canvases settle them.
import { settings, type CanvasWishes, type Range } from '../store/settings.js';
import { NumberInput } from './number-input.js';

// As the engine has them (engine/base/canvas_settings.h).
const inputs: Record<keyof CanvasWishes, Range & { label: string }> = {
    steps: { label: 'Steps of a canvas, at most', min: 1, max: 1024, whole: true },
    t_max: { label: 'Hottest, at the first step', min: 0.01, max: 100, whole: false },
    t_min: { label: 'Coolest, towards the last', min: 0.01, max: 100, whole: false },
    entropy_bound: { label: 'Entropy bound', min: 0, max: 1e6, whole: false },
    stability_threshold: { label: 'Stability threshold', min: 0, max: 1024, whole: true },
    confidence_threshold: { label: 'Confidence threshold', min: 0, max: 100, whole: false },
};

export function CanvasSettings({ value }: { value: CanvasWishes }) {
    const change = (name: keyof CanvasWishes, number: number | undefined) => {
        const { [name]: _, ...others } = settings.value.diffusion;
        settings.update({ diffusion: number === undefined ? others : { ...others, [name]: number } });
    };
    const { t_max: first, t_min: last } = value;
    return (
        <section class="card">
            <h2>Canvases</h2>
            <p class="faint">
                For models that settle many words together, like DiffusionGemma. More steps and a lower entropy bound are slower
                and more careful; the temperature falls from the hottest to the coolest. A canvas is done early when as many steps as the stability threshold says changed nothing, and the
                model is surer than the confidence threshold. Empty fields follow the model’s file.
            </p>
            <div class="row">
                {Object.entries(inputs).map(([name, { label, ...range }]) => (
                    <NumberInput
                        key={name}
                        label={label}
                        range={range}
                        value={value[name as keyof CanvasWishes]}
                        onChange={(number) => change(name as keyof CanvasWishes, number)}
                    />
                ))}
            </div>
            {first !== undefined && last !== undefined && first < last && (
                <p class="problem" role="alert">
                    The temperature falls: at the first step it must be {last} or more.
                </p>
            )}
        </section>
    );
}
