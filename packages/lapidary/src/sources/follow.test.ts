import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { LapidaryError } from '../error.js';
import { follow, isLoopback } from './follow.js';
import { meantStatus, retryAfter } from './refused.js';

interface Request {
    url: string;
    headers: Record<string, string>;
}

/** A network in which every address leads to the next of the list, and the last one answers. */
function network(t: TestContext, answers: Record<string, string>): Request[] {
    const asked: Request[] = [];
    t.mock.method(globalThis, 'fetch', async (url: URL, init: RequestInit) => {
        assert.equal(init.redirect, 'manual');
        asked.push({ url: url.href, headers: init.headers as Record<string, string> });
        const location = answers[url.href];
        return location === undefined ? new Response('here') : new Response(null, { status: 302, headers: { location } });
    });
    return asked;
}

const secret = { authorization: 'Bearer secret', cookie: 'secret' };
const always = { range: 'bytes=0-1' };

test('what was meant for one server does not travel to another, and does not come back either', async (t) => {
    const asked = network(t, {
        'https://a.example/x': '/y',
        'https://a.example/y': 'https://b.example/z?signature=1',
        'https://b.example/z?signature=1': 'https://a.example/end',
    });
    const { response, passed } = await follow(new URL('https://a.example/x'), { headers: secret, always });
    assert.equal(await response.text(), 'here');
    assert.equal(passed.length, 3);
    assert.deepEqual(asked.map(({ headers }) => headers['authorization'] ?? 'none'), ['Bearer secret', 'Bearer secret', 'none', 'none']);
    assert.ok(asked.every(({ headers }) => headers['range'] === 'bytes=0-1'));
    assert.ok(asked.slice(2).every(({ headers }) => headers['cookie'] === undefined));
});

test('another port is another server', async (t) => {
    const asked = network(t, { 'http://127.0.0.1:1111/x': 'http://127.0.0.1:2222/y' });
    await follow(new URL('http://127.0.0.1:1111/x'), { headers: secret });
    assert.equal(asked[1]?.headers['authorization'], undefined);
});

const refused: [from: string, to: string, message: RegExp][] = [
    ['https://a.example/x', 'http://a.example/x', /leads to http:\/\/a\.example, which is not encrypted/],
    ['https://a.example/x', 'http://127.0.0.1/x', /not encrypted/],
    ['http://lan.example/x', 'http://other.example/x', /not encrypted/],
    ['http://lan.example/x', 'http://127.0.0.1:80/x', /not encrypted/],
    ['http://127.0.0.1/x', 'file:///etc/passwd', /leads to file:/],
    ['https://a.example/x?token=secret', 'https://[', /leads to an address that is none/],
];
for (const [from, to, message] of refused) {
    test(`${from} may not lead to ${to}`, async (t) => {
        network(t, { [from]: to });
        await assert.rejects(follow(new URL(from), {}), (error: unknown) => {
            assert.ok(error instanceof LapidaryError);
            assert.match(error.message, message);
            assert.doesNotMatch(error.message, /secret/);
            return true;
        });
    });
}

test('a server in the local network may lead to itself, and this computer to itself', async (t) => {
    const answers = { 'http://lan.example/x': 'http://lan.example:8080/y', 'http://localhost:1/x': 'http://127.0.0.1:2/y' };
    network(t, answers);
    for (const from of Object.keys(answers)) await follow(new URL(from), {});
});

test('addresses that lead in a circle come to an end', async (t) => {
    const asked = network(t, { 'https://a.example/x': 'https://a.example/x' });
    await assert.rejects(follow(new URL('https://a.example/x'), {}), /leads to other addresses again and again/);
    assert.equal(asked.length, 11);
});

test('this computer is known by its names', () => {
    for (const host of ['localhost', 'a.localhost', '127.0.0.1', '127.9.9.9', '[::1]']) assert.ok(isLoopback(new URL(`http://${host}/`)), host);
    for (const host of ['localhost.example', '127.0.0.1.example', '10.0.0.1']) assert.ok(!isLoopback(new URL(`http://${host}/`)), host);
});

const waits: [header: string | null, seconds: number | undefined][] = [
    ['40', 40],
    ['0', 0],
    ['Wed, 18 Nov 2026 00:01:30 GMT', 90],
    ['Tue, 17 Nov 2026 00:00:00 GMT', 0],
    ['999999', 3600],
    ['99999999999999999999', undefined],
    ['soon', undefined],
    ['-5', undefined],
    [null, undefined],
];
for (const [header, seconds] of waits) {
    test(`Retry-After: ${header} asks to wait ${seconds} s`, () => {
        const headers = new Headers(header === null ? {} : { 'retry-after': header });
        assert.equal(retryAfter(headers, Date.parse('2026-11-18T00:00:00Z')), seconds);
    });
}

test('what Hugging Face does not show to strangers is not there for them', () => {
    const answer = (status: number, code: string) => meantStatus(new Response(null, { status, headers: { 'x-error-code': code } }));
    assert.equal(answer(401, 'RepoNotFound'), 404);
    assert.equal(answer(401, 'GatedRepo'), 401);
    assert.equal(answer(403, 'RepoNotFound'), 403);
});
