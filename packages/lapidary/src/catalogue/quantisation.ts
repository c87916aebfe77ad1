// What the name of a GGUF file says about how it was quantised. Names are habits, not a format: nothing depends on them
// but what people are shown and which file of several is taken.

const pattern = /(?:^|[^a-z0-9])((?:ud-)?(?:iq[1-4]_(?:xxs|xs|s|m|nl)|q[2-8]_(?:k(?:_(?:xl|l|m|s))?|[01])|mxfp4|bf16|f16|f32|fp16|fp32))(?=[^a-z0-9]|$)/gi;

/** `Q4_K_M`; undefined when the name says nothing. The last one counts: words before it are of the model's name. */
export function quantisationOf(fileName: string): string | undefined {
    const found = [...fileName.matchAll(pattern)].at(-1)?.[1];
    return found?.toUpperCase().replace(/^FP/, 'F');
}

/** The middle of what people use: small enough, and hardly worse than the original. */
const liked = ['Q4_K_M', 'Q4_0', 'UD-Q4_K_XL', 'Q4_K_S', 'Q5_K_M', 'IQ4_XS', 'IQ4_NL', 'Q4_1', 'Q5_0', 'Q6_K', 'Q8_0', 'Q3_K_M'];

/** Less is liked better; names that say nothing come before those that are large for what they give. */
export function rankQuantisation(quantisation: string | undefined): number {
    const at = liked.indexOf(quantisation ?? '');
    if (at >= 0) return at;
    return quantisation === undefined ? liked.length : liked.length + 1;
}

/** A projector for images or sound: it goes with a model and is none. */
export function isProjector(fileName: string): boolean {
    return /(^|[^a-z])mmproj([^a-z]|$)/i.test(fileName.split('/').pop() ?? '');
}

/** Drafters, importance matrices, adapters: GGUF files that are no models to talk to. */
export function isAuxiliary(fileName: string): boolean {
    const name = fileName.split('/').pop() ?? '';
    return isProjector(name) || /(^|[^a-z])(imatrix|mtp|assistant|drafter?|lora|adapter)([^a-z]|$)/i.test(name);
}
