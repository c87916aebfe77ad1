// lapidary selftest: whether this computer's GPU computes what it should.
import type { Command } from 'commander';
import { LapidaryError, checkGpu, type CheckReport, type CheckedCase } from 'lapidary';
import { chooseBackend, loadEngine, nodeGpu, whyNoNodeGpu } from 'lapidary/node';
import type { Interrupts } from '../interrupt.js';
import { logToStderr } from '../model-argument.js';
import { ProgressLine, formatTable } from '../terminal.js';

interface Flags {
    quick?: boolean;
    json?: boolean;
    without?: string[];
    kernels?: string[];
    formats?: string[];
}

const list = (text: string) => text.split(',').filter((word) => word !== '');

export function addSelfTest(program: Command, interrupts: Interrupts): void {
    program
        .command('selftest')
        .description('compare every GPU kernel with the same thing done slowly on the CPU')
        .option('--quick', 'one case for each kernel and weight format')
        .option('--without <features>', 'do without GPU features, such as subgroups', list)
        .option('--kernels <names>', 'only these kernels, such as gemv,gemm', list)
        .option('--formats <names>', 'only weights in these formats, such as q4_k,f16', list)
        .option('--json', 'every case as JSON')
        .addHelpText('after', '\nExample:\n  lapidary selftest --quick --without subgroups')
        .action(async (flags: Flags) => {
            await chooseBackend('gpu', () => nodeGpu(), whyNoNodeGpu); // says why there is none
            const engine = await loadEngine({ log: logToStderr });
            const progress = new ProgressLine('checking', 'steps');
            try {
                const { json: asJson, ...request } = flags;
                const report = await checkGpu(engine, request, {
                    onProgress: progress.update,
                    signal: interrupts.signal,
                }).finally(() => progress.clear());
                const text = asJson ? JSON.stringify(report) : describe(report).join('\n');
                process.stdout.write(`${text}\n`);
                if (report.failed > 0) {
                    throw new LapidaryError('internal', `this GPU fails ${report.failed} of ${report.cases.length} cases`);
                }
            } finally {
                engine.close();
            }
        });
}

/** One line for each kernel, format and variant, with its worst case; then what is wrong, case by case. */
export function describe({ adapter, cases, failed, ms }: CheckReport): string[] {
    const groups = new Map<string, CheckedCase[]>();
    for (const item of cases) {
        const key = [item.kernel, item.format, item.variant].join();
        groups.set(key, [...(groups.get(key) ?? []), item]);
    }
    const rows = [...groups.values()].map((group) => {
        const worst = group.reduce((a, b) => (badness(b) > badness(a) ? b : a));
        const { kernel, format, variant, error, limit } = worst;
        const wrong = group.filter(({ ok }) => !ok).length;
        const verdict = wrong === 0 ? 'ok' : `${wrong} wrong`;
        return [kernel, format, variant, String(group.length), error.toExponential(1), limit.toExponential(0), verdict];
    });
    const header = ['kernel', 'weights', 'sums', 'cases', 'error', 'limit', ''];
    const wrong = cases.filter(({ ok }) => !ok);
    return [
        `${adapter}: ${cases.length - failed} of ${cases.length} cases right, ${(ms / 1000).toFixed(1)} s`,
        '',
        ...formatTable([header, ...rows], [false, false, false, true, true, true]),
        ...(wrong.length > 0 ? [''] : []),
        ...wrong.map((item) => `wrong: ${describeCase(item)}`),
    ];
}

function badness({ ok, error, limit }: CheckedCase): number {
    return (ok ? 0 : 1e9) + error / limit;
}

function describeCase({ kernel, format, variant, shape, error, problem }: CheckedCase): string {
    const name = [kernel, format, variant].filter((word) => word !== '').join(' ');
    return `${name}, ${shape}: ${problem ?? `error ${error.toExponential(2)}`}`;
}
