// What a model writes, as the nodes it becomes. They are written out here the way a browser would, which makes no page of them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ComponentChild, VNode } from 'preact';
import { nodesOf } from './nodes.js';
import { Reader } from './reader.js';

function show(node: ComponentChild): string {
    if (Array.isArray(node)) return node.map(show).join('');
    if (node === null || node === undefined || typeof node === 'boolean') return '';
    if (typeof node !== 'object') return String(node).replaceAll('<', '&lt;');
    const { type, props } = node as VNode<Record<string, unknown>>;
    const attributes = Object.entries(props)
        .filter(([name, value]) => name !== 'children' && value !== false)
        .map(([name, value]) => ` ${name}="${String(value)}"`);
    return `<${String(type)}${attributes.join('')}>${show(props['children'] as ComponentChild)}</${String(type)}>`;
}

function made(text: string): string {
    const reader = new Reader();
    reader.read(text, false, { left: Infinity });
    return reader.blocks.map(({ tokens, raw }) => show(nodesOf(tokens, raw))).join('\n');
}

const outside = 'target="_blank" rel="noopener noreferrer nofollow"';

test('Markdown becomes what it means', () => {
    assert.equal(made('# A *b* **c** `d<e`\n\nText'), '<h1>A <em>b</em> <strong>c</strong> <code>d&lt;e</code></h1>\n<p>Text</p>');
    assert.equal(
        made('- a\n- [x] *b*\n- [ ] d\n  1. c'),
        '<ul><li>a</li><li><label><input type="checkbox" disabled="true" checked="true"></input><em>b</em></label></li>' +
            '<li><label><input type="checkbox" disabled="true"></input>d</label><ol><li>c</li></ol></li></ul>',
    );
    assert.equal(made('3. a\n\n4. b'), '<ol start="3"><li><p>a</p></li><li><p>b</p></li></ol>');
    assert.equal(made('> ~~a~~  \n> b'), '<blockquote><p><del>a</del><br></br>b</p></blockquote>');
    assert.match(
        made('|a|b|c|\n|:-|-|-:|\n|1|*2*|3|'),
        /<th class="to-left">a<\/th>.*<td class="to-left">1<\/td><td><em>2<\/em><\/td><td class="to-right">3<\/td>/,
    );
    assert.equal(made('[a](https://b.c "d")'), `<p><a href="https://b.c" ${outside} title="d">a</a></p>`);
    assert.equal(made('see https://b.c/d?e=1, or README.md'), `<p>see <a href="https://b.c/d?e=1" ${outside}>https://b.c/d?e=1</a>, or README.md</p>`);
    assert.equal(made('[a][1] [b]\n\n[1]: https://c.d\n[b]: https://e.f'), `<p><a href="https://c.d" ${outside}>a</a> <a href="https://e.f" ${outside}>b</a></p>\n\n`);
    assert.equal(made('    code *a*'), '<pre tabIndex="0" dir="ltr"><code>code *a*</code></pre>');
});

test('a single newline is one, as models mean it, and one tilde means itself', () => {
    assert.equal(made('Tom saw a cat.\nThe cat ran.'), '<p>Tom saw a cat.<br></br>The cat ran.</p>');
    assert.equal(made('H~2~O, ~5 and ~6'), '<p>H~2~O, ~5 and ~6</p>');
});

test('formulas keep their backslashes, and nothing in them is Markdown', () => {
    assert.equal(made(String.raw`so \(a_1 * b_2 * c\) and \[x\\y_z_\] but \*not\* \( this`), String.raw`<p>so <span class="formula">\(a_1 * b_2 * c\)</span> and <span class="formula">\[x\\y_z_\]</span> but *not* ( this</p>`);
});

test('characters may be called by their names, and by no other name', () => {
    assert.equal(made('a &amp; b &#x1F48E; &nosuch; &valueOf; &toString; &constructor; \\* &lt;b>'), '<p>a & b 💎 &nosuch; &valueOf; &toString; &constructor; * &lt;b></p>');
});

test('HTML is text, and links lead only where links may', () => {
    assert.equal(made('<script>x</script>'), '<p>&lt;script>x&lt;/script></p>');
    assert.equal(made('a <b onclick="x">c</b>'), '<p>a &lt;b onclick="x">c&lt;/b></p>');
    const hostile = ['javascript:alert(1)', 'JaVaScRiPt:x', '&#106;avascript:x', 'data:text/html,x', 'data:image/png;base64,x', 'vbscript:x', '/a', '//a.b', 'file:///a', 'blob:x'];
    for (const address of hostile) {
        assert.doesNotMatch(made(`[a](${address}) ![b](${address}) <${address}>\n\n[c]\n\n[c]: ${address}`), /<a |<img|href/, address);
    }
    assert.equal(made('![cat](https://a.b/c.png)'), `<p><a href="https://a.b/c.png" ${outside}>🖼 cat</a></p>`);
});

test('what nobody meant does no harm, and nothing of it is lost', () => {
    const allowed = /^<\/?(?:p|blockquote|hr|ul|li|em|strong|br|div|table|thead|tbody|tr|th|td)/;
    for (const text of ['>'.repeat(20_000), '- '.repeat(500), '*'.repeat(9999), '['.repeat(2000), '|'.repeat(3000)]) {
        for (const [tag] of made(text).matchAll(/<\/?\w+/g)) assert.match(tag, allowed);
    }
    for (const open of ['> ', '- ', '1. ', '>- ']) assert.match(made(`${open.repeat(300)}the end`), /the end/, open);
    assert.match(made(`${'*a **b '.repeat(300)}the end`), /the end/);
});
