// A model's eyes and ears are a file of their own, which lies beside it: with it comes what makes pictures and sounds readable.
import { quantisationOf } from '../catalogue/quantisation.js';
import type { ModelFile, ResolvedModel } from './resolve.js';

/** As they were trained, then what is as good, then what is smaller, then what is larger for nothing. */
const byPreference = ['BF16', 'F16', 'Q8_0', undefined, 'F32'];

/** The one of several that goes with it; undefined where there is none, or none that can be read. */
export function projectorOf({ entry, architecture, projectors }: ResolvedModel): ModelFile | undefined {
    const kind = entry?.architecture ?? architecture;
    if (kind !== undefined && kind !== 'gemma4') return undefined;
    const named = entry?.sources.flatMap((source) => (source.kind === 'huggingface' ? [source.projector] : [])) ?? [];
    const rank = ({ name }: ModelFile) => {
        if (named.includes(name)) return -1;
        const at = byPreference.indexOf(quantisationOf(name));
        return at < 0 ? byPreference.length : at;
    };
    return [...projectors].sort((a, b) => rank(a) - rank(b))[0];
}

/** With its projector among the files to get, where it has one. */
export function withProjector(model: ResolvedModel): ResolvedModel {
    const projector = projectorOf(model);
    if (!projector) return model;
    const bytes = model.bytes === undefined || projector.bytes === undefined ? undefined : model.bytes + projector.bytes;
    return { ...model, files: [...model.files, projector], bytes, checked: model.checked && projector.sha256 !== undefined };
}
