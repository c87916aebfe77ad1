import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { gpuForTests } from '../testing/gpu-driver.js';

const found = await gpuForTests();
const needsGpu = typeof found === 'string' ? { skip: found } : {};

interface Ended {
    status: number | null;
    signal: string | null;
    output: string;
}

/** Runs `node args…` with the tests' environment and what `env` changes of it. */
async function node(args: readonly string[], env: Record<string, string | undefined> = {}): Promise<Ended> {
    const child = spawn(process.execPath, args, { env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
        stream.setEncoding('utf8').on('data', (text: string) => (output += text));
    }
    const timer = setTimeout(() => child.kill('SIGKILL'), 300_000);
    return await new Promise((resolve, reject) => {
        child.on('error', reject);
        child.on('close', (status, signal) => {
            clearTimeout(timer);
            resolve({ status, signal, output });
        });
    });
}

const built = (name: string) => fileURLToPath(new URL(name, import.meta.url));

/** What `nodeGpu` finds and says in a process of its own. */
async function askNodeGpu(env: Record<string, string | undefined>): Promise<string> {
    const script = `
        import { nodeGpu } from ${JSON.stringify(new URL('./node.js', import.meta.url).href)};
        const gpu = await nodeGpu((level, text) => console.log(level, text));
        console.log(gpu === undefined ? 'nothing' : 'found', process.env.VK_ICD_FILENAMES ?? 'no driver named');`;
    const { status, output } = await node(['--input-type=module', '--eval', script], env);
    assert.equal(status, 0, output);
    return output;
}

// Not process.exit() in the middle of GPU work: there Dawn itself crashes now and then (docs/notes/toolchain.md).
for (const way of ['close when done', 'close while busy', 'just end']) {
    test(`a process that used the GPU ends by itself and with its own status: ${way}`, needsGpu, async () => {
        const ended = await node([built('../testing/gpu-exit.js'), way]);
        assert.deepEqual(ended, { status: 7, signal: null, output: '' });
    });
}

test('a package that is missing or is something else means no GPU, and a warning', async () => {
    const plain = { LAPIDARY_GPU: undefined, VK_ICD_FILENAMES: undefined };
    assert.match(
        await askNodeGpu({ ...plain, LAPIDARY_WEBGPU: '/nonexistent/index.js' }),
        /^warning WebGPU could not be loaded \(\/nonexistent\/index.js\): .*\nnothing no driver named/s,
    );
    assert.match(
        await askNodeGpu({ ...plain, LAPIDARY_WEBGPU: built('../error.js') }),
        /warning .*no function create\nnothing/s,
    );
});

test('software is used only by those who ask for it, and a driver that was named stays', needsGpu, async () => {
    const none = { LAPIDARY_GPU: undefined, VK_ICD_FILENAMES: undefined, VK_DRIVER_FILES: undefined };
    assert.match(await askNodeGpu(none), /no driver named/);
    assert.match(await askNodeGpu({ ...none, LAPIDARY_GPU: 'swiftshader' }), /swiftshader/i);
    assert.match(
        await askNodeGpu({ ...none, LAPIDARY_GPU: 'swiftshader', VK_ICD_FILENAMES: '/mine.json' }),
        /found \/mine\.json/,
    );
});
