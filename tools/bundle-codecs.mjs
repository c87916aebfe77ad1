// Decoders of pictures and sounds, each a module with its WebAssembly in it: packages/lapidary/codecs → dist/media/codecs; and what
// uses them beside the engine, as one module: dist/core/senses.js → dist/media/senses.js. So they are found wherever the
// library is: by any bundler, in Node, and in a page without a bundler. Does nothing when nothing changed.
import { existsSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const root = fileURLToPath(new URL('..', import.meta.url));
const from = path.join(root, 'packages/lapidary/codecs');
const to = path.join(root, 'packages/lapidary/dist/media/codecs');
const entries = readdirSync(from).filter((name) => name.endsWith('.js'));

/** What these have of the page or of Node, they need not: the WebAssembly is given to them. */
const alone = {
    name: 'alone',
    setup(builder) {
        // Decoders in threads of their own, and one that guesses what was lost of speech (8 MB).
        builder.onResolve({ filter: /^(@eshaz\/web-worker|@wasm-audio-decoders\/opus-ml)$/ }, ({ path: name }) => ({ path: name, namespace: 'nothing' }));
        builder.onLoad({ filter: /.*/, namespace: 'nothing' }, () => ({ contents: 'export default class {}', loader: 'js' }));
        // Bundlers would look for the files that this names.
        builder.onLoad({ filter: /_dec\.js$/ }, ({ path: file }) => ({
            contents: `const here = { url: 'https://localhost/' };\n${readFileSync(file, 'utf8').replaceAll('import.meta', 'here')}`,
            loader: 'js',
        }));
    },
};

const inputs = [...entries.map((name) => path.join(from, name)), fileURLToPath(import.meta.url), path.join(root, 'package-lock.json')];
const newest = Math.max(...inputs.map((file) => statSync(file).mtimeMs));
const done = entries.every((name) => existsSync(path.join(to, name)) && statSync(path.join(to, name)).mtimeMs > newest);
if (!done) {
    const { metafile } = await build({
        entryPoints: entries.map((name) => path.join(from, name)),
        outdir: to,
        bundle: true,
        format: 'esm',
        target: 'es2022',
        platform: 'neutral',
        mainFields: ['module', 'main'],
        minify: true,
        charset: 'utf8',
        legalComments: 'none',
        drop: ['console'],
        loader: { '.wasm': 'binary' },
        metafile: true,
        logLevel: 'warning',
        plugins: [alone],
    });
    writeFileSync(path.join(to, 'LICENSES.md'), licences(Object.keys(metafile.inputs)));
}

await build({
    entryPoints: [path.join(root, 'packages/lapidary/dist/core/senses.js')],
    outfile: path.join(root, 'packages/lapidary/dist/media/senses.js'),
    bundle: true,
    format: 'esm',
    target: 'es2022',
    platform: 'neutral',
    mainFields: ['module', 'main'],
    external: ['node:*'],
    minify: true,
    charset: 'utf8',
    legalComments: 'none',
    logLevel: 'warning',
});

/** Of every package that is in them. */
function licences(files) {
    const names = [...new Set(files.flatMap((file) => /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(file)?.[1] ?? []))].sort();
    const parts = names.map((name) => {
        const folder = [root, path.join(root, 'packages/lapidary')].map((at) => path.join(at, 'node_modules', name)).find(existsSync);
        const { version, license } = JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8'));
        const texts = readdirSync(folder).filter((file) => /^licen[cs]e/i.test(file)).map((file) => readFileSync(path.join(folder, file), 'utf8').trim());
        const codec = path.join(folder, 'codec/LICENSE.codec.md');
        if (existsSync(codec)) texts.push(readFileSync(codec, 'utf8').trim());
        return [`# ${name} ${version}: ${license}`, `https://www.npmjs.com/package/${name}`, ...texts].join('\n\n');
    });
    return `What the decoders in this folder are made of.\n\n${parts.join('\n\n')}\n`;
}
