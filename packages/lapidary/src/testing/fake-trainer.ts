// What a fake engine knows about adapters, data and training: enough to be learnt from, with losses that fall.
import type { FakeEngine, FakeCall } from './fake-engine.js';

interface FakeTraining {
    step: number;
    steps: number;
}

/** Put before what a FakeEngine answers otherwise; false when the method is none of these. */
export class FakeTrainer {
    /** What was asked, in order, over all engines. */
    readonly asked: { method: string; args: Record<string, unknown>; blob: string }[] = [];
    readonly trainings = new Map<number, FakeTraining>();
    /** Called after each step; throws nothing, but may make the engine lose its GPU. */
    onStep: (step: number, engine: number) => 'go on' | 'lost' = () => 'go on';
    /** How long a step takes. */
    stepMs = 1;
    private last = 100;
    private readonly stopped = new Set<number>();

    cancel(call: number): void {
        this.stopped.add(call);
    }

    answer(engine: FakeEngine, number: number, { number: id, method, args, blob }: FakeCall): boolean {
        const given = args as Record<string, unknown>;
        const text = new TextDecoder().decode(blob);
        if (!/^(adapter|data|train)\./.test(method)) return false;
        this.asked.push({ method, args: given, blob: text });
        const handle = ++this.last;
        const training = this.trainings.get(Number(given['train']));
        if (method === 'adapter.load') {
            if (text === 'broken') engine.fail(id, 'bad_file', 'the file is not an adapter');
            else engine.finish(id, { adapter: handle, description: { name: 'from the file', parameters: 12 } });
        } else if (method === 'adapter.describe') engine.finish(id, { name: 'trained', parameters: 12 });
        else if (method === 'adapter.export') {
            const files = [
                { name: 'one', offset: 0, size: 3 },
                { name: 'two', offset: 3, size: 2 },
            ];
            engine.finish(id, { files }, new TextEncoder().encode('abcde'));
        } else if (method === 'data.read') {
            const lines = text.split('\n').filter((line) => line !== '');
            const good = lines.filter((line) => line !== 'bad');
            const errors = lines.flatMap((line, i) => (line === 'bad' ? [{ line: i + 1, message: 'it is bad' }] : []));
            const preview = [{ line: 1, tokens: 2, shown: ['<bos>', 'a'], weights: [0, 1] }];
            engine.finish(id, {
                data: handle,
                format: 'text',
                examples: good.length,
                tokens: 10,
                learnt_tokens: 5,
                longest: 4,
                errors,
                error_count: errors.length,
                preview,
            });
        } else if (method === 'data.preview') engine.finish(id, { preview: [] });
        else if (method === 'train.create') {
            this.trainings.set(handle, { step: 0, steps: Number(given['steps'] ?? 5) });
            engine.finish(id, { train: handle, plan: { steps: Number(given['steps'] ?? 5), parameters: 12, memory: 1000 } });
        } else if (method === 'train.restore' && training) {
            training.step = Number(text);
            engine.finish(id, { step: training.step });
        } else if (method === 'train.save' && training) {
            engine.finish(id, { step: training.step }, new TextEncoder().encode(String(training.step)));
        } else if (method === 'train.adapter') engine.finish(id, { adapter: handle });
        else if (method === 'train.run' && training) void this.run(engine, number, id, training);
        else engine.finish(id, {});
        return true;
    }

    private async run(engine: FakeEngine, number: number, id: number, training: FakeTraining): Promise<void> {
        while (training.step < training.steps) {
            await new Promise((resolve) => setTimeout(resolve, this.stepMs));
            const step = ++training.step;
            const loss = 4 / step;
            engine.emit(id, { type: 'step', step, steps: training.steps, epoch: 1, loss, lr: 0.1, tokens_per_second: 7, grad_norm: 1 });
            if (step % 2 === 0) engine.emit(id, { type: 'validation', step, loss: loss + 1 });
            if (this.onStep(step, number) === 'lost') return engine.fail(id, 'device_lost', 'the GPU was lost: sleep');
            if (this.stopped.has(id)) return engine.fail(id, 'cancelled', 'stopped');
        }
        engine.finish(id, { step: training.step });
    }
}
