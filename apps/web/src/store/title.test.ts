import assert from 'node:assert/strict';
import { test } from 'node:test';
import { titleFrom } from './title.js';

test('a title is the beginning of what was said, cut at a word', () => {
    assert.equal(titleFrom('  Hello\n\n there  '), 'Hello there');
    assert.equal(titleFrom(' \n '), 'New conversation');
    const long = titleFrom('word '.repeat(40));
    assert.ok(long.length <= 61 && long.endsWith('word…'), long);
    assert.equal([...titleFrom('😀'.repeat(80))].length, 61, 'no half of an emoji');
});

test('a title has no Markdown in it, and loses nothing that only looks like it', () => {
    const cases: [string, string][] = [
        ['# Plan\n\n- **cabinets**\n- *sink*', 'Plan cabinets sink'],
        ['> 1. see [the lease](https://example.com/a "b") and ![a plan](p.png)', 'see the lease and a plan'],
        ['Why does `x = 1` __fail__ here?', 'Why does x = 1 fail here?'],
        ['```python\nprint(1)\n```\nWhat is wrong?', 'print(1) What is wrong?'],
        ['~~old~~ new', 'old new'],
        ['What is 2 * 3 * 4?', 'What is 2 * 3 * 4?'],
        ['Rename my_long_name to other_name', 'Rename my_long_name to other_name'],
        ['#hashtag and -5 degrees', '#hashtag and -5 degrees'],
        ['a[0] and f(x)', 'a[0] and f(x)'],
    ];
    for (const [text, title] of cases) assert.equal(titleFrom(text), title);
});

test('a long hostile beginning is read in no time worth counting', () => {
    for (const piece of ['[', '*a', '_ ', '`', '~~', '![](', '> ']) {
        assert.ok(titleFrom(piece.repeat(500_000)).length <= 61);
    }
});
