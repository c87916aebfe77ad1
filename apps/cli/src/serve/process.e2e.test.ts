// `lapidary serve` as a process: how it starts, refuses to start, and ends.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { test, type TestContext } from 'node:test';
import path from 'node:path';
import { lapidary, needsEngine, root } from '../testing/process.js';

const engine = needsEngine();

/** A server on a free port, and what it says. */
async function start(t: TestContext, args: string[]) {
    const child = spawn(process.execPath, [path.join(root, 'bin', 'lapidary'), 'serve', '--port', '0', ...args], {
        env: { ...process.env, OLLAMA_MODELS: '/nonexistent' },
        stdio: ['ignore', 'pipe', 'pipe'],
    });
    t.after(() => child.kill('SIGKILL'));
    const said = { stdout: '', stderr: '' };
    child.stderr.setEncoding('utf8').on('data', (text: string) => (said.stderr += text));
    const status = new Promise<number | null>((resolve) => child.on('close', resolve));
    const url = await new Promise<string>((resolve, reject) => {
        child.stdout.setEncoding('utf8').on('data', (text: string) => {
            said.stdout += text;
            const found = /http:\S+/.exec(said.stdout)?.[0];
            if (found) resolve(found);
        });
        child.on('close', () => reject(new Error(said.stderr)));
    });
    return { url, said, status, kill: (signal: NodeJS.Signals) => child.kill(signal) };
}

test('it says where it is, answers, and ends well when asked to', engine, async (t) => {
    const { url, said, status, kill } = await start(t, ['--backend', 'cpu', '--verbose']);
    const body = '{"prompt":"Once upon a","max_tokens":2,"temperature":0}';
    const answer = await fetch(`${url}/v1/completions`, { method: 'POST', body });
    assert.match(await answer.text(), /" time/);
    kill('SIGTERM');
    assert.equal(await status, 0);
    assert.match(said.stderr, /200 POST \/v1\/completions/);
    assert.match(said.stderr, /stopping/);
});

test('a second signal does not wait', engine, async (t) => {
    const { url, said, status, kill } = await start(t, ['--backend', 'cpu']);
    const story = '{"messages":[{"role":"user","content":"Tell me a story."}],"stream":true,"temperature":1}';
    const answer = await fetch(`${url}/v1/chat/completions`, { method: 'POST', body: story });
    await answer.body?.getReader().read();
    kill('SIGINT');
    // Two at once would be one.
    while (!said.stderr.includes('stopping')) await new Promise((resolve) => setTimeout(resolve, 20));
    kill('SIGINT');
    assert.notEqual(await status, 0);
});

test('it does not start where it should not', async (t) => {
    const open = await lapidary(['serve', '--port', '0', '--host', '0.0.0.0']);
    assert.equal(open.status, 1);
    assert.match(open.stderr, /^lapidary: on 0\.0\.0\.0 others can reach this server: give it an --api-key too\n$/);
    const missing = await lapidary(['serve', '--port', '0', '--model', 'nosuch']);
    assert.match(missing.stderr, /^lapidary: cannot find the model 'nosuch'/);
    const { url } = await start(t, []);
    const taken = await lapidary(['serve', '--port', new URL(url).port]);
    assert.match(taken.stderr, /^lapidary: port \d+ is in use already; --port takes another\n$/);
    assert.equal(taken.status, 1);
    const wrong = [['--port', '70000'], ['--backend', 'abacus'], ['--queue', '-1'], ['--allow-origin', 'example.org']];
    for (const args of wrong) {
        assert.equal((await lapidary(['serve', ...args])).status, 2);
    }
});
