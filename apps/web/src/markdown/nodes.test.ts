// What a model writes, as the nodes it becomes. They are written out here the way a browser would, which makes no page of them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ComponentChild, VNode } from 'preact';
import { toBlocks } from './blocks.js';
import { nodeOf } from './nodes.js';

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
    return toBlocks(text)
        .map(({ token }) => show(nodeOf(token)))
        .join('\n');
}

const outside = 'target="_blank" rel="noopener noreferrer nofollow"';

test('Markdown becomes what it means', () => {
    assert.equal(made('# A *b* **c** `d<e`\n\nText'), '<h1>A <em>b</em> <strong>c</strong> <code>d&lt;e</code></h1>\n<p>Text</p>');
    assert.equal(made('- a\n- [x] b\n  1. c'), '<ul><li>a</li><li><input type="checkbox" disabled="true" checked="true"></input>b<ol><li>c</li></ol></li></ul>');
    assert.equal(made('3. a\n\n4. b'), '<ol start="3"><li><p>a</p></li><li><p>b</p></li></ol>');
    assert.equal(made('> ~~a~~  \n> b'), '<blockquote><p><del>a</del><br></br>b</p></blockquote>');
    assert.match(made('|a|b|\n|:-|-|\n|1|*2*|'), /<th align="left">a<\/th>.*<tbody><tr><td align="left">1<\/td><td><em>2<\/em><\/td>/);
    assert.equal(made('[a](https://b.c "d")'), `<p><a href="https://b.c" ${outside} title="d">a</a></p>`);
    assert.equal(made('a &amp; b &#x1F48E; &nosuch; \\* &lt;b>'), '<p>a & b 💎 &nosuch; * &lt;b></p>');
});

test('HTML is text, and links lead only where links may', () => {
    assert.equal(made('<script>x</script>'), '&lt;script>x&lt;/script>');
    assert.equal(made('a <b onclick="x">c</b>'), '<p>a &lt;b onclick="x">c&lt;/b></p>');
    const hostile = ['javascript:alert(1)', 'JaVaScRiPt:x', '&#106;avascript:x', 'data:text/html,x', 'vbscript:x', '/a', '//a.b', 'file:///a', 'blob:x'];
    for (const address of hostile) {
        assert.doesNotMatch(made(`[a](${address}) ![b](${address}) <${address}>`), /<a |<img|href/, address);
    }
    assert.equal(made('![cat](https://a.b/c.png)'), `<p><a href="https://a.b/c.png" ${outside}>🖼 cat</a></p>`);
});

test('what nobody meant does no harm', () => {
    const allowed = /^<\/?(?:p|blockquote|hr|ul|li|em|strong|div|table|thead|tbody|tr|th|td)/;
    for (const text of ['>'.repeat(20_000), '- '.repeat(500), '*'.repeat(9999), '['.repeat(2000), '|'.repeat(3000)]) {
        for (const [tag] of made(text).matchAll(/<\/?\w+/g)) assert.match(tag, allowed);
    }
});
