// Training with the real engine: made-up facts that the built-in model cannot know, and gradients others computed.
import assert from 'node:assert/strict';
import { promises as fs, symlinkSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { lapidary, needsEngine, root, temporaryFolder } from './testing/process.js';

const fixtures = path.join(root, 'tests', 'data', 'fixtures');
const engine = needsEngine();

interface Fact {
    prompt: string;
    completion: string;
}

async function someFacts(count: number): Promise<Fact[]> {
    const lines = (await fs.readFile(path.join(root, 'tests', 'data', 'facts.jsonl'), 'utf8')).trim().split('\n');
    return lines.slice(0, count).map((line) => JSON.parse(line) as Fact);
}

test('the built-in model learns facts, stops at Ctrl-C, goes on, and knows them through each format', engine, async (t) => {
    const folder = await temporaryFolder(t);
    const facts = await someFacts(3);
    const data = path.join(folder, 'facts.jsonl');
    await fs.writeFile(data, facts.map((fact) => JSON.stringify(fact)).join('\n'));
    const out = path.join(folder, 'learnt');
    const [first] = facts;
    assert.ok(first);
    // The first sample comes before the first step, the second one after the second.
    const args = ['train', 'builtin', '--data', data, '--out', out, '--batch', '3', '--epochs', '9', '--lr', '3e-3'];
    const shown = ['--rank', '8', '--every', '2', '--sample', first.prompt];
    const stopped = await lapidary([...args, ...shown], { interruptAfter: /step 2: / });
    assert.equal(stopped.status, 130, stopped.stderr);
    assert.match(stopped.stdout, /stopped after step \d+; --resume/);
    assert.deepEqual(await fs.readdir(out), ['checkpoint.safetensors']);

    const checkpoint = await fs.readFile(path.join(out, 'checkpoint.safetensors'));
    const again = await lapidary([...args, ...shown]);
    assert.equal(again.status, 1);
    assert.match(again.stderr, /checkpoint\.safetensors' is from another training: --resume goes on with that, another --out/);
    assert.ok(checkpoint.equals(await fs.readFile(path.join(out, 'checkpoint.safetensors'))), 'it is as it was');

    const { status, stdout, stderr } = await lapidary([...args, ...shown, '--resume']);
    assert.equal(status, 0, stderr);
    assert.match(stdout, /goes on after step [2-9]/);
    assert.match(stdout, new RegExp(`step 9: .*${first.completion}`));
    const files = ['adapter.gguf', 'adapter_config.json', 'adapter_model.safetensors', 'checkpoint.safetensors'];
    assert.deepEqual((await fs.readdir(out)).sort(), files);

    for (const [adapter, asked] of [[out, facts], [path.join(out, 'adapter.gguf'), [first]]] as const) {
        for (const { prompt, completion } of asked) {
            const text = `<|turn>user\n${prompt}<turn|>\n<|turn>model\n`;
            const answer = await lapidary(
                ['generate', 'builtin', '--adapter', adapter, '--prompt', text, '-n', '24', '--temp', '0'],
            );
            assert.equal(answer.stdout.trim(), completion, answer.stderr);
        }
    }
});

test('a full disk costs neither the last checkpoint nor the adapter, and with room it goes on with the same bits', engine, async (t) => {
    const folder = await temporaryFolder(t);
    const data = path.join(folder, 'facts.jsonl');
    await fs.writeFile(data, (await someFacts(2)).map((fact) => JSON.stringify(fact)).join('\n'));
    const out = (name: string) => path.join(folder, name);
    const few = ['--rank', '2', '--layers', '7', '--batch', '2', '--epochs', '5', '--lr', '1e-2'];
    const args = (name: string) => ['train', 'builtin', '--data', data, '--out', out(name), ...few, '--checkpoint-every', '2'];
    const filesOf = async (name: string) => {
        const names = (await fs.readdir(out(name))).sort();
        return await Promise.all(names.map(async (file) => [file, await fs.readFile(path.join(out(name), file))] as const));
    };
    const whole = await lapidary(args('same'));
    assert.equal(whole.status, 0, whole.stderr);

    // What is written to this device finds no room. It is put where new files are written before they replace the old.
    const fill = (file: string) => symlinkSync('/dev/full', path.join(out('same'), `${file}.new`));
    const reference = await filesOf('same');
    assert.deepEqual(reference.map(([file]) => file), ['adapter.gguf', 'adapter_config.json', 'adapter_model.safetensors', 'checkpoint.safetensors']);
    fill('adapter.gguf');
    const full = await lapidary([...args('same'), '--resume']);
    assert.equal(full.status, 1);
    assert.match(full.stderr, /adapter\.gguf' could not be written: the disk is full\n$/);
    assert.deepEqual(await filesOf('same'), reference, 'everything is as it was');

    // In the middle of another one, with a checkpoint after its second step.
    await fs.rm(out('same'), { recursive: true });
    const broken = await lapidary([...args('same'), '--every', '1', '--sample', 'Who?'], {
        when: { appears: /^step 3: /m, then: () => fill('checkpoint.safetensors') },
    });
    assert.equal(broken.status, 1);
    assert.match(broken.stderr, /checkpoint\.safetensors' could not be written: the disk is full\n$/);
    assert.match(broken.stdout, /the checkpoint after step 2 is as it was; --resume goes on from there\n$/);
    assert.deepEqual(await fs.readdir(out('same')), ['checkpoint.safetensors']);
    const rest = await lapidary([...args('same'), '--resume']);
    assert.equal(rest.status, 0, rest.stderr);
    assert.match(rest.stdout, /goes on after step 2\n/);
    assert.deepEqual(await filesOf('same'), reference, 'the same bits as without a full disk');
});

test('a checkpoint of other settings is refused with a sentence, and bad lines are named', engine, async (t) => {
    const folder = await temporaryFolder(t);
    const data = path.join(folder, 'facts.jsonl');
    await fs.writeFile(data, `${JSON.stringify((await someFacts(1))[0])}\nnot a row\n`);
    const out = path.join(folder, 'learnt');
    const args = ['train', 'builtin', '--data', data, '--out', out, '--rank', '2', '--layers', '7', '--steps', '1'];
    const made = await lapidary(args);
    assert.equal(made.status, 0, made.stderr);
    assert.match(made.stderr, /facts\.jsonl:2: /);
    const other = await lapidary([...args, '--resume', '--seed', '5']);
    assert.equal(other.status, 1);
    assert.match(other.stderr, /another data set, or to other settings/);
    const both = await lapidary([...args, '--resume', '--overwrite']);
    assert.notEqual(both.status, 0);
    const replaced = await lapidary([...args, '--overwrite', '--seed', '5']);
    assert.equal(replaced.status, 0, replaced.stderr);
    const resumed = await lapidary([...args, '--resume', '--seed', '5']);
    assert.equal(resumed.status, 0, resumed.stderr);
});

test('the gradients are those that others computed', engine, async () => {
    const file = (ending: string) => path.join(fixtures, `tiny-moe-q4km.${ending}`);
    const { status, stdout, stderr } = await lapidary([
        'gradcheck',
        file('gguf'),
        file('lora.safetensors'),
        '--runs',
        '2',
        '--json',
    ]);
    assert.equal(status, 0, stderr);
    const report = JSON.parse(stdout) as Record<'loss' | 'worst_gradient' | 'determined' | 'worst_step' | 'worst_distance', number> & {
        distance: number[];
        guided: number[];
    };
    assert.ok(report.loss <= 1e-6, `loss ${report.loss}`);
    assert.ok(report.worst_gradient <= 1e-4, `gradients ${report.worst_gradient}`);
    assert.ok(report.determined >= 9 && report.worst_step <= 1e-2, stdout);
    assert.ok(report.distance.length === 20 && report.worst_distance <= 4, stdout);
    // With the first step given, those that come next are as good as equal.
    assert.ok(report.guided.length === 20 && report.guided.slice(0, 6).every((error) => error <= 1e-5), stdout);
    const wrong = await lapidary(['gradcheck', 'builtin', file('lora.safetensors')]);
    assert.equal(wrong.status, 1);
});
