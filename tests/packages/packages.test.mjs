// What people install, as they install it: `npm pack`, and projects of many kinds that use what came out. Run by
// tools/test-packages, which prepares LAPIDARY_PACKAGES: a folder with the tarball and the tools' node_modules.
import assert from 'node:assert/strict';
import { existsSync, promises as fs } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { noBrowser, results, run, running, serving } from './pages.mjs';
import { moduleOf, snippets } from './snippets.mjs';

const work = process.env.LAPIDARY_PACKAGES;
const root = fileURLToPath(new URL('../../', import.meta.url));
const projects = path.join(root, 'tests', 'packages', 'projects');
const model = path.join(root, 'models', 'storyteller-q4_k_m.gguf');
const tarball = path.join(work, 'lapidary.tgz');
const inBrowser = { skip: noBrowser };

/** A folder of its own for a project. With `tools`, as if these and the package had been installed there. */
async function project(name, { tools = true, as = name } = {}) {
    const folder = path.join(work, as);
    await fs.cp(path.join(projects, name), folder, { recursive: true });
    await fs.cp(path.join(projects, 'common'), folder, { recursive: true });
    await fs.writeFile(path.join(folder, 'package.json'), '{ "private": true, "type": "module" }\n');
    if (!tools) return folder;
    // Hard links: half a gigabyte, and nobody writes to it.
    const { status, output } = await run(work, 'cp', ['-al', path.join(work, 'node_modules'), folder]);
    assert.equal(status, 0, output);
    return folder;
}

async function npmInstall(folder, ...options) {
    const args = ['install', '--no-audit', '--no-fund', '--prefer-offline', '--ignore-scripts', ...options, tarball];
    const { status, output } = await run(folder, 'npm', args);
    assert.equal(status, 0, output);
}

async function succeed(cwd, args, env) {
    const { status, output } = await run(cwd, process.execPath, args, env);
    assert.equal(status, 0, output);
    return output;
}

const bin = (name) => path.join('node_modules', name);

/** An answer that came, from an engine in a worker. */
function assertAnswer(result) {
    assert.equal(result.error, undefined);
    assert.match(result.text, /\w/);
    assert.equal(result.worker, true, result.said.join('\n'));
}

test('Vite: the development server and the built page answer', inBrowser, async () => {
    const folder = await project('vite');
    await fs.mkdir(path.join(folder, 'public'));
    await fs.copyFile(model, path.join(folder, 'public', 'model.gguf'));
    const vite = bin('vite/bin/vite.js');
    const check = async (url) => {
        const { storyteller, file, missing, builtin } = await results(url, ['storyteller', 'file', 'missing', 'builtin']);
        assertAnswer(storyteller);
        assertAnswer(file);
        assert.deepEqual(file.notes, [], 'ranges work with its server');
        assert.match(missing.error, /no-such-model\.gguf: the server answers with a web page/);
        assert.match(builtin.error, /no built-in model .* import \{ storyteller \} from 'lapidary\/storyteller'/);
    };
    const where = (port) => ['--port', String(port), '--strictPort', '--host', '127.0.0.1'];
    await running(folder, process.execPath, (port) => [vite, ...where(port)], check);
    const output = await succeed(folder, [vite, 'build']);
    assert.doesNotMatch(output, /source ?map|warning|\(!\)/i);
    await running(folder, process.execPath, (port) => [vite, 'preview', ...where(port)], check);
});

test('webpack: the built page answers', inBrowser, async () => {
    const folder = await project('webpack');
    await succeed(folder, ['build.mjs']);
    await fs.copyFile(model, path.join(folder, 'dist', 'model.gguf'));
    await fs.writeFile(path.join(folder, 'dist', 'index.html'), '<!doctype html><script src="/main.js"></script>');
    const { storyteller, file } = await serving(path.join(folder, 'dist'), (url) => results(url, ['storyteller', 'file']));
    assertAnswer(storyteller);
    assertAnswer(file);
    assert.match(file.notes.join(), /does not send parts of a file, so all of it is downloaded first/);
});

test('esbuild: the built page answers when the files are placed and named, and says so when they are not', inBrowser, async () => {
    const folder = await project('esbuild');
    const dist = path.join(folder, 'node_modules', 'lapidary', 'dist');
    const out = path.join(folder, 'out');
    for (const [entry, to] of [['main.js', out], [path.join(dist, 'worker.js'), path.join(out, 'lapidary')]]) {
        const args = [entry, '--bundle', '--format=esm', '--log-level=warning', `--outdir=${to}`];
        const { status, output } = await run(folder, bin('.bin/esbuild'), args);
        assert.deepEqual([status, output], [0, '']);
    }
    for (const name of ['lapidary.wasm', 'cpu-base.wasm', 'cpu-relaxed.wasm', 'storyteller-q4_k_m.gguf']) {
        await fs.copyFile(path.join(dist, name), path.join(out, 'lapidary', name));
    }
    await fs.writeFile(path.join(out, 'index.html'), '<!doctype html><script type="module" src="/main.js"></script>');
    const { placed, forgotten } = await serving(out, (url) => results(url, ['placed', 'forgotten']));
    assertAnswer(placed);
    assert.match(forgotten.error, /the engine is not at .*lapidary\.wasm .*'wasm' and 'worker'/);
});

test('Next.js: the page and the server answer', inBrowser, async () => {
    const folder = await project('next');
    await fs.mkdir(path.join(folder, 'public'));
    await fs.copyFile(model, path.join(folder, 'public', 'model.gguf'));
    const next = bin('next/dist/bin/next');
    await succeed(folder, [next, 'build'], { NEXT_TELEMETRY_DISABLED: '1' });
    await running(folder, process.execPath, (port) => [next, 'start', '-p', String(port), '-H', '127.0.0.1'], async (url) => {
        const { storyteller, file } = await results(url, ['storyteller', 'file']);
        assertAnswer(storyteller);
        assertAnswer(file);
        const onServer = await (await fetch(new URL('/api/answer', url))).json();
        assert.match(onServer.text, /\w/);
    });
});

test('without a bundler: a page answers, and so does the first example of the README', inBrowser, async () => {
    const folder = await project('plain', { tools: false });
    await fs.cp(path.join(work, 'node_modules', 'lapidary', 'dist'), path.join(folder, 'lapidary'), { recursive: true });
    await fs.copyFile(model, path.join(folder, 'gemma.gguf'));
    // The same files from another origin, which does not let this one read them.
    const { storyteller, elsewhere } = await serving(folder, (other) =>
        serving(folder, (url) => results(`${url}?elsewhere=${other}gemma.gguf`, ['storyteller', 'elsewhere'])),
    );
    assertAnswer(storyteller);
    assert.match(elsewhere.error, /gemma\.gguf could not be read: the server is there, but does not let pages of .* \(CORS\)/);
    const [example] = await snippets(path.join(root, 'README.md'));
    const page = await fs.readFile(path.join(folder, 'index.html'), 'utf8');
    const told = "\nwindow.results = { readme: { text: document.body.innerText } };\n";
    const code = example.replace('https://example.com/gemma.gguf', '/gemma.gguf') + told;
    await fs.writeFile(
        path.join(folder, 'index.html'),
        page.replace(/<script type="module">.*?<\/script>/s, () => `<body><script type="module">\n${code}</script>`),
    );
    const { readme } = await serving(folder, (url) => results(url, ['readme']));
    assert.match(readme.text, /\w{2,}/);
});

test('Node: a program answers and ends by itself, from CommonJS too', async () => {
    const folder = await project('node', { tools: false });
    await npmInstall(folder);
    assert.ok(existsSync(path.join(folder, 'node_modules', 'webgpu')), 'the GPU comes along');
    const output = await succeed(folder, ['first.mjs']);
    // Dawn may have something to say of the drivers that it finds before.
    assert.match(JSON.parse(output.trim().split('\n').at(-1)).text, /\w/);
    assert.match(await succeed(folder, ['required.cjs']), /\w/);
    const [example] = await snippets(path.join(folder, 'node_modules', 'lapidary', 'README.md'));
    await fs.writeFile(path.join(folder, 'readme.mjs'), example);
    assert.match(await succeed(folder, ['readme.mjs']), /\w{2,}/);
});

const swiftShader = '/usr/lib/chromium/vk_swiftshader_icd.json';
const needsGpu = { skip: existsSync(swiftShader) ? false : `there is no GPU in software at ${swiftShader}` };
test('Node: a program with the GPU ends by itself without dispose()', needsGpu, async () => {
    const folder = path.join(work, 'node');
    await fs.copyFile(path.join(root, 'tests', 'data', 'fixtures', 'tiny-e2b-q4_0.gguf'), path.join(folder, 'tiny.gguf'));
    const env = { LAPIDARY_GPU: 'swiftshader', LAPIDARY_CACHE: path.join(work, 'cache') };
    assert.match(await succeed(folder, ['gpu.mjs'], env), /^gpu .*\n$/);
});

test('Node: without optional packages the CPU answers, and a sentence says why', async () => {
    const folder = await project('node', { tools: false, as: 'node-cpu' });
    await npmInstall(folder, '--omit=optional');
    assert.ok(!existsSync(path.join(folder, 'node_modules', 'webgpu')));
    // As if a driver were there: only the package is missing.
    const { text, backend, why } = JSON.parse(await succeed(folder, ['first.mjs'], { VK_ICD_FILENAMES: '/nonexistent.json' }));
    assert.match(text, /\w/);
    assert.equal(backend, 'cpu');
    assert.match(why, /'webgpu' is not installed|no Vulkan here/);
    assert.match(why, /, so the CPU computes$/);
});

for (const compiler of ['typescript', 'typescript-7']) {
    test(`types hold without skipLibCheck, and the AI SDK takes the models: ${compiler}`, async () => {
        const folder = await project('types', { as: `types-${compiler}` });
        const tsc = bin(`${compiler}/bin/tsc`);
        for (const [module, moduleResolution] of [['esnext', 'bundler'], ['node16', 'node16'], ['nodenext', 'nodenext']]) {
            const args = [tsc, '-p', '.', '--module', module, '--moduleResolution', moduleResolution];
            assert.equal(await succeed(folder, args), '', moduleResolution);
        }
        assert.equal(await succeed(folder, [tsc, '-p', 'tsconfig.sdk.json']), '');
    });
}

test('every example of docs/api.md runs', async () => {
    const folder = await project('node', { as: 'api' });
    const [first, ...others] = await snippets(path.join(root, 'docs', 'api.md'));
    await fs.writeFile(path.join(folder, 'first.mjs'), first);
    assert.match(await succeed(folder, ['first.mjs']), /\w{2,}/);
    assert.ok(others.length >= 6, 'there are examples');
    const begin = "import { Lapidary } from 'lapidary';\nconst engine = await Lapidary.load('builtin', { contextLength: 1024 });\n";
    const code = moduleOf(others)
        .replace("import { Lapidary } from 'lapidary';\n", '')
        .replace(/prompt: \d+, decode: \d+, runs: \d+/, 'prompt: 16, decode: 4, runs: 1')
        // The only line that cannot do without a GPU.
        .replace(/await Lapidary\.check\((.*?)\);/, 'await Lapidary.check($1).catch((error) => console.log(error.message));');
    await fs.writeFile(path.join(folder, 'others.mjs'), begin + code);
    assert.match(await succeed(folder, ['others.mjs']), /\w{2,}/);
});
