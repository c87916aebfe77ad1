// Runs a WASI program (our engine tests built for WebAssembly) in Node: node tests/run-wasm.mjs X.wasm [args…]
import { readFileSync } from 'node:fs';
import path from 'node:path';
import v8 from 'node:v8';
import { WASI } from 'node:wasi';

// Node 20's fast calls into its WASI layer crash the garbage collector when the program's memory grows.
v8.setFlagsFromString('--no-turbo-fast-api-calls');

const [program, ...args] = process.argv.slice(2);
// The parent folder too: the optional real vocabulary lies beside the repository.
const root = process.cwd();
const parent = path.dirname(root);
const wasi = new WASI({
    version: 'preview1',
    args: [program, ...args],
    env: { ...process.env, LAPIDARY_ROOT: root },
    preopens: { [parent]: parent },
});
const module = await WebAssembly.compile(readFileSync(program));
const instance = await WebAssembly.instantiate(module, wasi.getImportObject());
process.exitCode = wasi.start(instance);
