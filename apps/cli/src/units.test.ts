// The small parts of the command line that compute something.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bandwidthShare } from './commands/bench.js';
import { describeObject } from './describe.js';
import { parseInteger, parseNumber, parseTokens } from './numbers.js';
import { samplingFrom } from './sampling.js';
import { ProgressLine, colours, describeProgress, formatBytes, formatDuration, safeFor } from './terminal.js';

class FakeStream {
    written = '';
    columns = 80;
    constructor(readonly isTTY: boolean) {}
    write(text: string): void {
        this.written += text;
    }
}

test('numbers are what people write as numbers', () => {
    const number = parseNumber({ min: -10, max: 10 });
    assert.deepEqual(['1', '-1.5', '.5', '2.', '1e-3', '+3'].map(number), [1, -1.5, 0.5, 2, 0.001, 3]);
    for (const text of ['', ' ', '1x', '0x1', 'NaN', 'Infinity', '1e9', '--1', '1,5', '١']) {
        assert.throws(() => number(text), /must be a number/, text);
    }
    const integer = parseInteger({ min: 0, max: 100 });
    assert.deepEqual(['0', '100', '007'].map(integer), [0, 100, 7]);
    for (const text of ['', '1.0', '1e1', '-1', '101', '9'.repeat(400)]) assert.throws(() => integer(text), text);
});

test('the share of bandwidth is bytes a second of weights over those of a copy, or nothing', () => {
    const measured = { weight_bytes_per_token: 1e9, decode_gpu_ms: 4 };
    assert.equal(bandwidthShare(measured, 1e12), 0.25);
    for (const [of, copy] of [[measured, null], [{ weight_bytes_per_token: 1e9 }, 1e12], [{ ...measured, decode_gpu_ms: 0 }, 1e12]] as const) {
        assert.equal(bandwidthShare(of, copy), null);
    }
});

test('token ids come with commas, spaces, line breaks or as a JSON list', () => {
    for (const text of ['2,5,7', '2 5 7', ' 2,\n5\n7\n', '[2, 5, 7]']) assert.deepEqual(parseTokens(text), [2, 5, 7]);
    assert.deepEqual(parseTokens(' '), []);
    for (const text of ['1.5', '-1', 'a', '1;2', '2147483648', '[[1]]']) assert.throws(() => parseTokens(text), text);
});

test('flags come before what the model brings, and nothing is made up', () => {
    assert.deepEqual(samplingFrom({}), { sampling: {}, stop: [] });
    const params = { temperature: 1, top_k: 64, stop: ['END'], num_ctx: 8, top_p: 'high' };
    assert.deepEqual(samplingFrom({ temp: 0 }, params), { sampling: { temperature: 0, top_k: 64 }, stop: ['END'] });
    assert.deepEqual(samplingFrom({ stop: ['x', ''] }, params).stop, ['x']);
});

test('sizes and times read well', () => {
    assert.deepEqual([0, 1023, 1536, 20090112, 3 * 2 ** 40].map(formatBytes), ['0 B', '1023 B', '1.50 KiB', '19.2 MiB', '3.00 TiB']);
    assert.deepEqual([0, 61, 3600, 86399].map(formatDuration), ['0:00', '1:01', '1:00:00', '23:59:59']);
    assert.equal(describeProgress('loading', 'bytes', 2 ** 20, 2 ** 22, 2), 'loading  25 %  1.00 MiB of 4.00 MiB  512 KiB/s  0:06 left');
    assert.equal(describeProgress('reading', 'tokens', 0, 0, 0), 'reading 100 %  0 of 0');
});

test('progress and colours are for terminals only', () => {
    const pipe = new FakeStream(false);
    const silent = new ProgressLine('loading', 'bytes', pipe);
    silent.update({ done: 1, total: 2 });
    silent.clear();
    assert.equal(pipe.written, '');
    assert.equal(colours(pipe, {}).bold('x'), 'x');

    const terminal = new FakeStream(true);
    let now = 0;
    const line = new ProgressLine('loading', 'bytes', terminal, () => now);
    line.update({ done: 1, total: 100 });
    now = 50;
    line.update({ done: 2, total: 100 }); // too soon to draw again
    now = 200;
    line.update({ done: 3, total: 100 });
    assert.equal(terminal.written.split('\r').length, 3);
    line.clear();
    assert.ok(terminal.written.endsWith('\r\u001b[K'));
    assert.notEqual(colours(terminal, {}).bold('x'), 'x');
    assert.equal(colours(terminal, { NO_COLOR: '1' }).bold('x'), 'x');
});

test('a model cannot send control sequences to a terminal', () => {
    const text = 'a\tb\n\u001b]0;title\u0007\u009b31m\r!';
    assert.equal(safeFor(new FakeStream(true), text), 'a\tb\n\ufffd]0;title\ufffd\ufffd31m\ufffd!');
    assert.equal(safeFor(new FakeStream(false), text), text);
});

test('a description shows whatever it is given', () => {
    const lines = describeObject({
        name: 'storyteller',
        file_bytes: 2048,
        supported: true,
        reason: null,
        context_length: 131072,
        memory: { weights: 1024, at_4096: 1536 },
        quantization: [
            { type: 'q4_K', tensors: 10, bytes: 1024 },
            { type: 'f32', tensors: 2 },
        ],
    });
    assert.deepEqual(lines, [
        'name            storyteller',
        'file bytes      2.00 KiB (2 048)',
        'supported       yes',
        'context length  131 072',
        'memory',
        '  weights  1.00 KiB',
        '  at 4096  1.50 KiB',
        'quantization',
        '  type  tensors  bytes',
        '  q4_K       10  1.00 KiB (1 024)',
        '  f32         2',
    ]);
});
