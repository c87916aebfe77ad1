import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DraftView, rowsOf, type Draft } from './draft.js';

const draft = (text: string, firm: number[] = []): Draft => ({ type: 'draft', text, firm, settled: 1, tokens: 16, step: 2, steps: 48 });

function terminal(columns: number, rows = 24) {
    const written: string[] = [];
    return { isTTY: true, columns, rows, write: (text: string) => written.push(text), written };
}

test('a draft is drawn in lines of the terminal, with what is firm apart', () => {
    assert.deepEqual(rowsOf('ab cd', [3, 5], 4), [
        [
            { text: 'ab ', firm: false },
            { text: 'c', firm: true },
        ],
        [{ text: 'd', firm: true }],
    ]);
    assert.deepEqual(rowsOf('a\nb', [], 9).length, 2);
    assert.equal(rowsOf('\u001b[2J', [], 9)[0]?.[0]?.text, '\ufffd[2J', 'a draft moves no cursor');
});

test('it goes without a trace, back to the end of what is settled', () => {
    const screen = terminal(40);
    const view = new DraftView(screen);
    view.write('abc');
    view.show(draft('one\ntwo'));
    screen.written.length = 0;
    view.write('d');
    assert.deepEqual(screen.written, ['\r\u001b[3A\u001b[3C\u001b[J', 'd']);
});

test('a long draft leaves room on the screen', () => {
    const screen = terminal(10, 8);
    const view = new DraftView(screen);
    view.show(draft('x'.repeat(500)));
    assert.ok((screen.written.join('').match(/\n/g) ?? []).length <= 6);
});

test('a pipe sees no draft', () => {
    const written: string[] = [];
    const view = new DraftView({ write: (text) => written.push(text) });
    view.show(draft('one'));
    view.write('two');
    assert.deepEqual(written, ['two']);
    assert.equal(view.wanted, false);
});
