// Where what a dispatch binds comes from: the def-use of a program.

/**
 * What an update finds in a scratch tensor that nobody has written. The engine compiles no program that reads such a tensor, so
 * the kernel could read it here, but does not.
 */
const nothing = '(nothing)';

/** Whether two sides' words for a binding mean the same. */
export function sameWord(one, other) {
    const written = [one, other].map((word) => word.slice(word.indexOf('→')));
    return one === other || (other.startsWith(nothing) && written[0] === written[1]);
}

/**
 * For each dispatch a list of words, one for each binding that counts. `uses` says which do, in order, and how:
 * [{ index, use: 'read' | 'write' | 'update' }]. A read is named by the dispatch and the binding that wrote what it finds,
 * constants by their checksum, everything else by its tensor. `named` has the tensors that both sides know by the same
 * name: of these it counts where something is written, and how much is bound. The others are taken for scratch, which may lie
 * anywhere.
 */
export function flowOf(dispatches, uses, named) {
    const written = new Writes();
    return dispatches.map(({ bound }, at) => {
        const now = [];
        const words = uses[at].map(({ index, use }, rank) => {
            const range = bound[index];
            const place = `${range.tensor}+${range.offset}`;
            let word = '';
            if (use !== 'write') {
                const { writers, complete } = written.found(range);
                if (writers.length === 0 && range.contents !== null) word = `#${range.contents}`;
                else if (writers.length === 0 && use === 'update' && range.tensor.startsWith('scratch: ')) word = nothing;
                else word = [...writers, ...(complete ? [] : [place])].join('|');
            }
            if (use !== 'read') {
                word += named.has(range.tensor) ? `→${place}` : '→';
                now.push({ ...range, by: `%${at}.${rank}` });
            }
            // How much room scratch takes is nobody's business.
            return named.has(range.tensor) ? `${word}:${range.size}` : word;
        });
        for (const range of now) written.add(range);
        return words;
    });
}

/** What was written so far. */
class Writes {
    byTensor = new Map();

    add(range) {
        const before = this.byTensor.get(range.tensor);
        if (before) before.push(range);
        else this.byTensor.set(range.tensor, [range]);
    }

    /** Who left what a read of this range finds, the last first, and whether they wrote all of it. */
    found(range) {
        const writers = [];
        let gaps = [[range.offset, range.offset + range.size]];
        const written = this.byTensor.get(range.tensor) ?? [];
        for (let i = written.length; i-- > 0 && gaps.length > 0;) {
            const { offset, size, by } = written[i];
            const left = gaps.flatMap(([begin, end]) => [
                ...(begin < offset ? [[begin, Math.min(end, offset)]] : []),
                ...(end > offset + size ? [[Math.max(begin, offset + size), end]] : []),
            ]);
            if (bytes(left) === bytes(gaps)) continue;
            gaps = left;
            writers.push(offset === range.offset ? by : `${by}@${offset - range.offset}`);
        }
        return { writers, complete: gaps.length === 0 };
    }
}

function bytes(ranges) {
    return ranges.reduce((sum, [begin, end]) => sum + end - begin, 0);
}

/** The tensors that programs bind. */
export function tensorsOf(programs) {
    const bound = programs.flatMap(({ dispatches }) => dispatches.flatMap((dispatch) => dispatch.bound));
    return new Set(bound.map(({ tensor }) => tensor));
}
