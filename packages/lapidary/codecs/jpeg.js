// JPEG by MozJPEG, which decodes as libjpeg-turbo does.
import make from '@jsquash/jpeg/codec/dec/mozjpeg_dec.js';
import wasmBinary from '@jsquash/jpeg/codec/dec/mozjpeg_dec.wasm';

const module = WebAssembly.compile(wasmBinary);

/** RGBA. A decoder of its own each time: one that failed is of no further use, and its memory never shrinks. */
export async function decode(bytes) {
    return (await make({ instantiateWasm: instantiating(await module), print() {}, printErr() {} })).decode(bytes, false);
}

function instantiating(compiled) {
    return (imports, done) => {
        void WebAssembly.instantiate(compiled, imports).then((instance) => done(instance));
        return {};
    };
}
