import { test } from 'node:test';
import { inputOf, seedsOf } from './fuzz.js';
import { targets } from './fuzz-targets.js';

// `make fuzz` goes on from here.
const runs = 2000;

for (const target of targets) {
    test(`${target.name}: its promises hold for ${runs} damaged files`, async () => {
        const seeds = await seedsOf(target.name);
        for (let run = 0; run < runs; run++) await target.check(inputOf(target, seeds, run));
    });
}
