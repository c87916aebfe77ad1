import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hrefOf, parseRoute, type Route } from './router.js';

test('every route has an address that leads back to it', () => {
    const pages: Route[] = [{ page: 'chat' }, { page: 'models' }, { page: 'settings' }];
    const routes: Route[] = [...pages, { page: 'chat', conversation: 'a/b' }];
    for (const route of routes) assert.deepEqual(parseRoute(hrefOf(route)), route);
});

test('an unknown address is the chat', () => {
    for (const hash of ['', '#', '#/', '#/nowhere', '#/c/']) assert.deepEqual(parseRoute(hash), { page: 'chat' });
});
