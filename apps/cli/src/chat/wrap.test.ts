import assert from 'node:assert/strict';
import { test } from 'node:test';
import stringWidth from 'string-width';
import { WordWrap } from './wrap.js';

/** All of it, in pieces of every length up to that of the text: how it arrives must not matter. */
function wrapped(text: string, columns: number): string {
    const all = new Set<string>();
    for (let size = 1; size <= text.length; size++) {
        const wrap = new WordWrap(() => columns);
        let out = '';
        // By code points, as the engine's text comes.
        const points = [...text];
        for (let at = 0; at < points.length; at += size) out += wrap.add(points.slice(at, at + size).join(''));
        all.add(out + wrap.end());
    }
    assert.equal(all.size, 1, [...all].join('\n---\n'));
    return [...all].join();
}

test('lines break between words', () => {
    assert.equal(wrapped('the quick brown fox jumps', 10), 'the quick\nbrown fox\njumps');
    assert.equal(wrapped('1234567890 1', 10), '1234567890\n1');
    assert.equal(wrapped('ends with a space ', 80), 'ends with a space');
});

test('line breaks, paragraphs and indentation stay', () => {
    assert.equal(wrapped('a\n\n  b c\n\td', 10), 'a\n\n  b c\n\td');
    assert.equal(wrapped('    indented words here', 12), '    indented\nwords here');
});

test('what is wider than the line is left to the terminal, and counted', () => {
    assert.equal(wrapped('abcdefghijklm no pq', 10), 'abcdefghijklm no pq');
    assert.equal(wrapped('abcdefghijklm nopqrs tu', 10), 'abcdefghijklm nopqrs\ntu');
});

test('wide letters count double and need no spaces, emoji are one', () => {
    const text = wrapped('今日は天気がいいですね', 10);
    assert.equal(text, '今日は天気\nがいいです\nね');
    for (const line of text.split('\n')) assert.ok(stringWidth(line) <= 10);
    assert.equal(wrapped('12345 👍 👍', 9), '12345 👍\n👍');
    assert.equal(wrapped('ab é́é́é́ cd', 6), 'ab é́é́é́\ncd');
});

test('a window that changes is followed', () => {
    let columns = 20;
    const wrap = new WordWrap(() => columns);
    const first = wrap.add('one two three ');
    columns = 8;
    assert.equal(first + wrap.add('four five six ') + wrap.end(), 'one two three\nfour\nfive six');
});
