// What the page may do when its host says nothing about it.
import assert from 'node:assert/strict';
import { promises as fs } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { contentSecurityPolicy } from 'lapidary/node';
import { openApp } from './app.js';
import { Visitor } from './browser.js';
import { root } from './site.js';

const app = openApp({ gpu: false });

test('the built page carries the policy, before anything that could load something', { skip: app.skip }, async () => {
    const page = await fs.readFile(path.join(root, 'index.html'), 'utf8');
    const attribute = contentSecurityPolicy.replaceAll("'", '(?:\'|&#39;)').replaceAll('*', '\\*');
    const meta = new RegExp(`<meta http-equiv="Content-Security-Policy" content="${attribute}"`).exec(page);
    assert.ok(meta, page);
    assert.doesNotMatch(page.slice(0, meta.index), /<(?:script|link|style)/);
});

test('nothing from elsewhere runs in it, and nothing that was not built', { skip: app.skip }, async () => {
    await app.visit(async (context) => {
        const { page } = await Visitor.arrive(context, app.site.url);
        await page.locator('#app > *').first().waitFor();
        const ran = await page.evaluate(async () => {
            const found: string[] = [];
            const violations: string[] = [];
            document.addEventListener('securitypolicyviolation', ({ effectiveDirective }) => {
                violations.push(effectiveDirective);
            });
            const scope = window as unknown as Record<string, unknown>;
            const inline = document.createElement('script');
            inline.textContent = 'window.inlineRan = true';
            document.head.append(inline);
            if (scope['inlineRan']) found.push('an inline script');
            // In a call of its own: what a test asks of the page directly may evaluate text.
            await new Promise<void>((resolve) => {
                setTimeout(() => {
                    try {
                        (0, eval)('1');
                        found.push('eval');
                    } catch {
                        // As it should be.
                    }
                    resolve();
                });
            });
            const ended = (element: HTMLElement & { src: string }, src: string) =>
                new Promise<string>((resolve) => {
                    element.addEventListener('load', () => resolve('loaded'));
                    element.addEventListener('error', () => resolve('refused'));
                    element.src = src;
                    document.body.append(element);
                });
            const foreign = document.createElement('script');
            if ((await ended(foreign, 'data:text/javascript,window.dataRan=1')) === 'loaded') found.push('a script in an address');
            const picture = document.createElement('img');
            if ((await ended(picture, 'http://127.0.0.1:9/x.png')) === 'loaded') found.push('a picture from elsewhere');
            const known = () => [...new Set(violations)].sort();
            // They are told a moment after they were prevented.
            for (let looks = 0; looks < 200 && known().length < 3; looks++) await new Promise((resolve) => setTimeout(resolve, 50));
            return { found, violations: known() };
        });
        assert.deepEqual(ran.found, []);
        assert.deepEqual(ran.violations, ['img-src', 'script-src', 'script-src-elem']);
    });
});
