// How the server is, for programs that watch it: in a word, and in numbers as Prometheus reads them.
import type { AnswerTotals } from 'lapidary';
import type { Routes } from './http.js';
import type { Service } from './service.js';

export function addHealthRoutes(app: Routes, service: Service): void {
    app.get('/health', (c) => {
        const { queue, loaded } = service;
        const models = loaded.list().map(({ entry }) => entry.id);
        return c.json({ status: 'ok', models, running: queue.running, waiting: queue.waiting }, 200, noStore);
    });
    app.get('/metrics', (c) =>
        c.body(metrics(service), 200, { ...noStore, 'content-type': 'text/plain; version=0.0.4; charset=utf-8' }),
    );
}

const noStore = { 'cache-control': 'no-store' };

/** What an answer counts, in Prometheus' words. */
const counters: readonly [name: string, help: string, of: (totals: AnswerTotals) => number][] = [
    ['answers_total', 'Answers that came to their end', ({ answers }) => answers],
    ['prompt_tokens_total', 'Tokens of prompts', ({ prompt }) => prompt],
    ['cached_prompt_tokens_total', 'Of these, those that were known from before', ({ cached }) => cached],
    ['completion_tokens_total', 'Tokens written', ({ completion }) => completion],
    ['prompt_seconds_total', 'Time spent reading prompts', ({ promptMs }) => promptMs / 1000],
    ['completion_seconds_total', 'Time spent writing', ({ completionMs }) => completionMs / 1000],
];

function metrics({ queue, loaded, started }: Service): string {
    const lines: string[] = [];
    const metric = (name: string, type: 'counter' | 'gauge', help: string, values: [labels: string, value: number][]) => {
        lines.push(`# HELP lapidary_${name} ${help}.`, `# TYPE lapidary_${name} ${type}`);
        for (const [labels, value] of values) lines.push(`lapidary_${name}${labels} ${value}`);
    };
    metric('start_time_seconds', 'gauge', 'When the server was started', [['', started / 1000]]);
    metric('requests_running', 'gauge', 'Requests that have the engine', [['', queue.running ? 1 : 0]]);
    metric('requests_waiting', 'gauge', 'Requests that wait for their turn', [['', queue.waiting]]);
    const models = loaded.list();
    const labels = (id: string) => `{model="${id.replace(/[\\"\n]/g, (letter) => (letter === '\n' ? '\\n' : `\\${letter}`))}"}`;
    metric('model_bytes', 'gauge', 'Bytes of the weights of models in memory', models.map(({ entry, engine }) => [labels(entry.id), engine.info.weightBytes]));
    const totals = loaded.totals();
    for (const [name, help, of] of counters) {
        metric(name, 'counter', help, [...totals].map(([id, one]) => [labels(id), of(one)]));
    }
    return `${lines.join('\n')}\n`;
}
