// node fuzz-main.js NAME [--runs N] [--seconds S] [--from RUN] [--findings FOLDER]
//
// Stops at what comes first, and at the first broken promise: then the input lies in FOLDER, and `--from` its number
// with `--runs 1` gives it again.
import { promises as fs } from 'node:fs';
import { parseArgs } from 'node:util';
import { inputOf, seedsOf } from './fuzz.js';
import { targets } from './fuzz-targets.js';

const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
        runs: { type: 'string', default: '1000000' },
        seconds: { type: 'string', default: '60' },
        from: { type: 'string', default: '0' },
        findings: { type: 'string', default: '.' },
    },
});
const target = targets.find(({ name }) => name === positionals[0]);
if (!target) throw new Error(`one of ${targets.map(({ name }) => name).join(', ')} is wanted`);

const seeds = await seedsOf(target.name);
const from = Number(values.from);
const end = from + Number(values.runs);
const start = performance.now();
const seconds = () => (performance.now() - start) / 1000;
let run = from;
for (; run < end && (run % 256 !== 0 || seconds() < Number(values.seconds)); run++) {
    const input = inputOf(target, seeds, run);
    try {
        await target.check(input);
    } catch (error) {
        const file = `${values.findings}/crash-${target.name}-${run}`;
        await fs.writeFile(file, input);
        console.error(`ERROR: run ${run} of ${target.name} breaks a promise; its input is in ${file}`);
        console.error(error);
        process.exit(1);
    }
}
console.log(`stat::number_of_executed_units: ${run - from} in ${Math.round(seconds())} s`);
