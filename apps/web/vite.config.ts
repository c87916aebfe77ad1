// The site: one page, one service worker, the engine, and the built-in model beside them.
import { createHash } from 'node:crypto';
import { copyFileSync, createReadStream, mkdirSync, readFileSync, readdirSync, statSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { contentSecurityPolicy } from 'lapidary/node';
import { build, defineConfig, type Plugin } from 'vite';
import { waiting, writeAlready } from './src/views/waiting-words.js';
import { motto, title } from './src/views/welcome-words.js';

const here = path.dirname(fileURLToPath(import.meta.url));
const modelName = 'storyteller-q4_k_m.gguf';
const modelFile = path.join(here, '../../models', modelName);

function digest(bytes: string | Uint8Array): string {
    return createHash('sha256').update(bytes).digest('hex');
}

/** The built-in model at models/…: a file of the finished site, and served from its own place during development. */
function builtinModel(): Plugin {
    let outDir = '';
    return {
        name: 'lapidary-builtin-model',
        configResolved: (config) => {
            outDir = path.resolve(config.root, config.build.outDir);
        },
        configureServer: (server) => {
            server.middlewares.use(`/models/${modelName}`, (_request, response) => {
                response.setHeader('content-type', 'application/octet-stream');
                response.setHeader('content-length', statSync(modelFile).size);
                createReadStream(modelFile).pipe(response);
            });
        },
        closeBundle: () => {
            mkdirSync(path.join(outDir, 'models'), { recursive: true });
            copyFileSync(modelFile, path.join(outDir, 'models', modelName));
        },
    };
}

/** In one file without imports, which a service worker may not have in every browser: what it shares with the app is in both. */
async function buildServiceWorker(): Promise<string> {
    const built = await build({
        configFile: false,
        root: here,
        logLevel: 'warn',
        define: constants,
        build: {
            write: false,
            target,
            minify: 'terser',
            rollupOptions: { input: path.join(here, 'sw/sw.ts'), output: { format: 'iife', inlineDynamicImports: true } },
        },
    });
    const chunks = [built].flat().flatMap((result) => ('output' in result ? result.output : []));
    const [worker, ...others] = chunks;
    if (worker?.type !== 'chunk' || others.length > 0) throw new Error('the service worker is not one file');
    return worker.code;
}

/**
 * Makes the service worker, which is told what files make the site and how this version of it is called. The name follows
 * from the contents: a new build replaces the old one, the same build does not.
 */
function serviceWorker(): Plugin {
    const fromPublic = ['theme.js', 'manifest.webmanifest', 'icon.svg', 'icon-maskable.svg', 'recorder.js'];
    return {
        name: 'lapidary-service-worker',
        apply: 'build',
        enforce: 'post',
        generateBundle: async function (_options, bundle) {
            const hash = createHash('sha256');
            const files = Object.keys(bundle).filter((name) => !name.endsWith('.map'));
            for (const name of files.sort()) {
                const item = bundle[name];
                if (item) hash.update(name).update(item.type === 'chunk' ? item.code : item.source);
            }
            for (const name of fromPublic) hash.update(readFileSync(path.join(here, 'public', name)));
            // The engine for browsers that refuse it a worker, and the one with everything in it: too large to be kept
            // for so few. Decoders stay when they were used. The CPU's kernels are needed where there is no GPU, and
            // where one is lost.
            const rare = /^assets\/(in-process|lapidary-workshop|codec|pdf)[-.]/;
            const needed = files.filter((name) => name !== 'index.html' && !rare.test(name));
            const shell = ['./', ...needed, ...fromPublic];
            const source = (await buildServiceWorker())
                .replace(/(["'`])__SHELL_FILES__\1/, () => JSON.stringify(JSON.stringify(shell)))
                .replace('__SHELL_VERSION__', hash.digest('hex').slice(0, 12));
            this.emitFile({ type: 'asset', fileName: 'sw.js', source });
        },
    };
}

/** The first words, which are in the page itself, are those of the app. */
function firstWords(): Plugin {
    const words = { __TITLE__: title, __MOTTO__: motto, __WRITE_ALREADY__: writeAlready, __PROMISE__: waiting(undefined) };
    return {
        name: 'lapidary-first-words',
        transformIndexHtml: (page) => Object.entries(words).reduce((text, [place, word]) => text.replace(place, word), page),
    };
}

/** A host of plain files sends no policy, so the built page has it. Before everything else: it counts from there on. */
function policyInPage(): Plugin {
    return {
        name: 'lapidary-policy-in-page',
        apply: 'build',
        transformIndexHtml: {
            order: 'post',
            handler: () => [
                {
                    tag: 'meta',
                    attrs: { 'http-equiv': 'Content-Security-Policy', content: contentSecurityPolicy },
                    injectTo: 'head-prepend',
                },
            ],
        },
    };
}

/** Decoders are told from what everybody needs. */
function nameOfChunk({ facadeModuleId }: { facadeModuleId: string | null }): string {
    return facadeModuleId && /\/media\/codecs\/|\/pdfjs-dist\//.test(facadeModuleId) ? 'assets/codec-[name]-[hash].js' : 'assets/[name]-[hash].js';
}

const modelBytes = readFileSync(modelFile);

/** Of everything the app's scripts are made of: tabs of two builds should not talk to each other. */
function version(): string {
    const hash = createHash('sha256');
    const read = (folder: string) => {
        for (const entry of readdirSync(folder, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1))) {
            const file = path.join(folder, entry.name);
            if (entry.isDirectory()) read(file);
            else if (/\.(ts|tsx|js)$/.test(entry.name) && !entry.name.includes('.test.')) hash.update(readFileSync(file));
        }
    };
    for (const folder of ['src', '../../packages/lapidary/dist']) read(path.join(here, folder));
    return hash.digest('hex').slice(0, 12);
}

const target = 'es2022';
const constants = {
    __MODEL_PATH__: JSON.stringify(`models/${modelName}`),
    __MODEL_BYTES__: JSON.stringify(modelBytes.length),
    __MODEL_DIGEST__: JSON.stringify(digest(modelBytes)),
    __APP_VERSION__: JSON.stringify(version()),
};

export default defineConfig({
    root: here,
    base: './',
    define: constants,
    esbuild: { jsx: 'automatic', jsxImportSource: 'preact' },
    optimizeDeps: { exclude: ['lapidary'] },
    worker: { format: 'es', rollupOptions: { output: { chunkFileNames: nameOfChunk } } },
    build: {
        target,
        minify: 'terser', // a fiftieth smaller than esbuild's
        terserOptions: { ecma: 2020, compress: { passes: 3, ecma: 2020 } },
        modulePreload: { polyfill: false },
        assetsInlineLimit: 0,
        chunkSizeWarningLimit: 600, // pdf.js, which comes with the first PDF
        rollupOptions: {
            input: { main: path.join(here, 'index.html') },
            output: { entryFileNames: 'assets/[name]-[hash].js', chunkFileNames: nameOfChunk },
        },
    },
    plugins: [builtinModel(), firstWords(), policyInPage(), serviceWorker()],
});
