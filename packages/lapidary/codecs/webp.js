// WebP by libwebp.
import make from '@jsquash/webp/codec/dec/webp_dec.js';
import wasmBinary from '@jsquash/webp/codec/dec/webp_dec.wasm';

const module = WebAssembly.compile(wasmBinary);

/** RGBA, or null. A decoder of its own each time: its memory never shrinks. */
export async function decode(bytes) {
    return (await make({ instantiateWasm: instantiating(await module), print() {}, printErr() {} })).decode(bytes);
}

function instantiating(compiled) {
    return (imports, done) => {
        void WebAssembly.instantiate(compiled, imports).then((instance) => done(instance));
        return {};
    };
}
