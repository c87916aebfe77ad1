import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hrefOf, parseRoute, type Route } from './router.js';

test('every route has an address that leads back to it', () => {
    const pages: Route[] = [{ page: 'chat' }, { page: 'models' }, { page: 'settings' }];
    const routes: Route[] = [...pages, { page: 'chat', conversation: 'a/b' }];
    for (const route of routes) assert.deepEqual(parseRoute(hrefOf(route)), route);
});

test('an address that somebody mistyped or cut off is no reason to fail', () => {
    for (const hash of ['#/c/%zz', '#/c/%', '#/c/100%', '#/c/%E0%A4']) {
        const route = parseRoute(hash);
        assert.deepEqual(route, { page: 'chat', conversation: hash.slice(4) });
        assert.deepEqual(parseRoute(hrefOf(route)), route);
    }
});

test('an unknown address is the chat', () => {
    for (const hash of ['', '#', '#/', '#/nowhere', '#/c/']) assert.deepEqual(parseRoute(hash), { page: 'chat' });
});
