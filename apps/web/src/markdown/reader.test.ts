// That a text is read in pieces, that what is finished is not read again, and that no piece is long: counted in characters.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Reader, type Block } from './reader.js';
import { Turns } from './turns.js';

const everything = () => ({ left: Infinity });
const words = (reader: Reader) =>
    reader.blocks.map(({ tokens, raw }) =>
        tokens?.map(({ type, content, children }) => [type, content, children?.map((child) => [child.type, child.content, child.attrs])]) ?? raw,
    );

const document = `# A *title*

A paragraph with [a link][later] and **more**
in two lines.

- one
- two

  still two
    - deeper
1. first

> quoted
lazy

| a | b |
|---|:-:|
| 1 | \`2\` |

\`\`\`js
let x = 1;

// - no list
\`\`\`
Title
---
[later]: https://a.b
[other]:
  https://c.d
  "t"

The end of [other] & all.`;

test('a text that streams in becomes what it becomes when it is there at once', () => {
    const whole = new Reader();
    assert.ok(whole.read(document, false, everything()));
    for (const step of [1, 7, 50]) {
        const reader = new Reader();
        for (let end = step; end < document.length; end += step) assert.ok(reader.read(document.slice(0, end), true, everything()));
        assert.ok(reader.read(document, false, everything()));
        assert.deepEqual(words(reader), words(whole), `${step} characters at a time`);
        assert.equal(reader.rest, '');
    }
});

test('while a text grows, only its last block is read again', () => {
    const reader = new Reader();
    let text = 'A sentence of *some* length, to be read once and not again.\n\n'.repeat(1000);
    reader.read(text, true, everything());
    const [first] = reader.blocks;
    const budget = { left: 1e9 };
    for (let i = 0; i < 100; i++) assert.ok(reader.read((text += 'more '), true, budget));
    assert.ok(1e9 - budget.left < 100 * 2 * 1000, `${1e9 - budget.left} characters for 500 new ones`);
    assert.equal(reader.blocks[0], first, 'the same object: nothing of it is made again');
});

test('of a list that grows, only the item that changed is read again', () => {
    const reader = new Reader();
    const text = Array.from({ length: 300 }, (_, i) => `- item ${i} with *words* in it\n`).join('');
    const items = () => reader.blocks[0]?.tokens?.filter(({ type }) => type === 'inline').map(({ children }) => children) ?? [];
    reader.read(text, true, everything());
    const before = items();
    reader.read(`${text}- one more *item*`, true, everything());
    assert.equal(items().length, 301);
    before.forEach((words, i) => assert.equal(items()[i], words, 'the same object: it was not read again'));
});

const tokensOf = ({ tokens = [] }: Block) => tokens.reduce((sum, { children }) => sum + 1 + (children?.length ?? 0), 0);

const bombs = ['[a](', '![a](', '[a](<', '*a_', '[', '`', '**a ', '<', '> ', '- ', '|a', '"', '~~a ', '[a]: b\n', '&', 'http://a.', '[a][b', '- a\n', '1. a\n\n', '> a\n', '|a|b|\n|-|-|\n', '\\(', '\n', '# a\n', '```\n', 'x\n=\n', '    a\n\n'];

test('whatever is in a text, no turn reads more than so much of it, and it comes to an end', () => {
    for (const bomb of bombs) {
        const text = bomb.repeat(200_000 / bomb.length);
        const reader = new Reader();
        let turns = 0;
        let longest = 0;
        let most = 0;
        for (let done = false, before = 0; !done; turns++) {
            const budget = { left: 16_000 };
            done = reader.read(text, false, budget);
            longest = Math.max(longest, 16_000 - budget.left);
            const tokens = reader.blocks.reduce((sum, block) => sum + tokensOf(block), 0);
            most = Math.max(most, tokens - before);
            before = tokens;
            assert.ok(turns < 300, `${JSON.stringify(bomb)} is not read after ${turns} turns`);
        }
        assert.ok(most <= 8000, `${most} tokens of ${JSON.stringify(bomb)} in a turn`);
        // Of code only the lines are looked for, which is little work.
        const allowed = bomb.includes('`') ? text.length + 100 : 16_000 + 64_000 + 16_000;
        assert.ok(longest <= allowed, `${longest} characters of ${JSON.stringify(bomb)} in a turn`);
        assert.equal(reader.rest, '');
        assert.equal(reader.blocks.map(({ raw }) => raw).join('').trim(), text.trim(), 'and all of it is there');
    }
});

test('what a text says about where links lead is not copied for every piece of it', () => {
    const reader = new Reader();
    let copied = 0;
    const counting = new Proxy<Record<string, unknown>>({}, {
        ownKeys: (target) => {
            const keys = Reflect.ownKeys(target);
            copied += keys.length;
            return keys;
        },
    });
    // Before anything is known; the reader has no other door for a test.
    const inside = reader as unknown as { references: object; openReferences: object };
    inside.references = counting;
    inside.openReferences = Object.create(counting) as object;
    const labels = Array.from({ length: 5000 }, (_, i) => `[a${i}]: https://b.c/${i}\n`).join('');
    let turns = 0;
    while (!reader.read(`[a4999] is said first.\n\n${labels}\nThe [a7] and the [a4999].`, false, { left: 16_000 })) assert.ok(++turns < 100);
    assert.ok(copied <= 2 * 5000, `${copied} of 5000 were copied`);
    const links = reader.blocks.flatMap(({ tokens = [] }) =>
        tokens.flatMap(({ children }) => (children ?? []).flatMap(({ type, attrs }) => (type === 'link_open' ? [attrs?.[0]?.[1]] : []))),
    );
    assert.deepEqual(links, ['https://b.c/4999', 'https://b.c/7', 'https://b.c/4999']);
});

test('code is one block, however long, and what comes behind it is read as text', () => {
    const reader = new Reader();
    const code = 'let x = 1;\n'.repeat(20_000);
    let turns = 0;
    while (!reader.read(`\`\`\`js\n${code}\`\`\`\n\nThe *end*.`, false, { left: 16_000 })) assert.ok(++turns < 80);
    const [first, last] = reader.blocks;
    assert.equal(reader.blocks.length, 2);
    assert.equal(first?.tokens?.[0]?.content, code);
    assert.equal(last?.raw, 'The *end*.');
});

test('a text that becomes another one is read anew', () => {
    const reader = new Reader();
    reader.read('# One\n\ntwo\n\nthree', false, everything());
    reader.read('# Two\r\n\r\nfour', false, everything());
    assert.deepEqual(reader.blocks.map(({ raw }) => raw), ['# Two\n\n', 'four']);
});

test('all texts of a page share a turn', () => {
    let ring = () => undefined as void;
    const turns = new Turns((callback) => ((ring = callback), 1));
    const text = 'Some *words*.\n\n'.repeat(2000);
    const readers = Array.from({ length: 20 }, () => new Reader());
    const waiting = () => readers.filter((reader) => !reader.read(text, false, turns)).length;
    let rounds = 0;
    for (let left = waiting(); left > 0; left = waiting()) {
        assert.ok(turns.left > -64_000);
        turns.spent();
        let called = 0;
        const forget = turns.wait(() => called++);
        turns.wait(() => called++);
        forget();
        ring();
        assert.equal(called, 1);
        assert.ok(++rounds < 1000);
    }
    assert.ok(rounds > 10, 'not all of it in one turn');
});
