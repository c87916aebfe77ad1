// names.json: what programs, kernels, bindings, constants and tensors were called → what they are called now. Programs and
// tensors are compared by these names; the others are for people who read a difference.
import { readFileSync } from 'node:fs';

const file = new URL('names.json', import.meta.url);

/** The names of now for those of then. A name may have been changed several times. */
export class Names {
    constructor(renamed = JSON.parse(readFileSync(file, 'utf8'))) {
        this.renamed = renamed;
    }

    of(kind, name) {
        const renamed = this.renamed[kind] ?? {};
        const met = new Set();
        while (Object.hasOwn(renamed, name) && !met.has(name)) {
            met.add(name);
            name = renamed[name];
        }
        return name;
    }

    /** "matvec.q4_k": a kernel and its format. */
    label(label) {
        const [kernel, ...format] = label.split('.');
        return [this.of('kernels', kernel), ...format].join('.');
    }
}
