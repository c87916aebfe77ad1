// What `dump_programs --json` prints, model by model and GPU by GPU.
import { createInterface } from 'node:readline';

/** The names of one side for its own programs: nothing was renamed. */
const asTheyAre = { of: (kind, name) => name, label: (label) => label };

/**
 * Yields { device, programs: [{ title, dispatches }] } for every model on every kind of GPU. `names` says what the names of
 * this side are called now.
 *
 * A dispatch is { pipeline, grid, bound }: a pipeline { label, text, nameless, wgsl, constants, bindings }, and for each
 * binding { tensor, offset, size, contents }, contents being the checksum of what was written there from outside, or null.
 */
export async function* devicesIn(stream, names = asTheyAre) {
    let current;
    for await (const line of createInterface({ input: stream, crlfDelay: Infinity })) {
        const record = JSON.parse(line);
        if ('program' in record) {
            const [device] = record.program.split(':', 1);
            if (device !== current?.device) {
                if (current) yield current;
                current = { device, programs: [], reader: new Reader(names) };
            }
            const name = names.of('programs', record.program.slice(device.length + 2));
            current.programs.push({ title: `${device}: ${name}`, dispatches: [] });
        } else {
            const dispatch = current.reader.take(record);
            if (dispatch) current.programs.at(-1).dispatches.push(dispatch);
        }
    }
    if (current) yield current;
}

/** Records refer to what was printed before, for the same model on the same GPU. */
class Reader {
    texts = new Map();
    pipelines = new Map();
    buffers = new Map();
    labels = new Map(); // how many buffers have it

    constructor(names) {
        this.names = names;
    }

    /** A dispatch, if that is what the record is. */
    take(record) {
        if ('text' in record) {
            this.texts.set(record.text, record);
        } else if ('pipeline' in record) {
            const { text, nameless, wgsl } = this.texts.get(record.of);
            const constants = record.constants.map(([name, value, from]) => ({
                name: this.names.of('constants', name),
                originally: name,
                value,
                given: from === 'given',
            }));
            const bindings = record.bindings.map(([name, use]) => ({ name: this.names.of('bindings', name), use }));
            const label = this.names.label(record.label);
            this.pipelines.set(record.pipeline, { label, text, nameless, wgsl, constants, bindings });
        } else if ('buffer' in record) {
            // Several may share a label: they are told apart by the order in which they are met.
            const label = this.names.of('tensors', record.label);
            const before = this.labels.get(label) ?? 0;
            this.labels.set(label, before + 1);
            this.buffers.set(record.buffer, before === 0 ? label : `${label} (${before + 1})`);
        } else if ('dispatch' in record) {
            const bound = record.bound.map(([buffer, offset, size, contents]) => ({
                tensor: this.buffers.get(buffer),
                offset,
                size,
                contents,
            }));
            return { pipeline: this.pipelines.get(record.dispatch), grid: record.grid, bound };
        }
        return undefined;
    }
}
