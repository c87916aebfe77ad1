// Chromium, as the other end-to-end tests have it.
import { chromiumIsThere, chromiumPath, launch } from '../browser.js';
import type { AnyBrowser, Kind, LaunchOptions, Tab } from './tab.js';

async function open({ gpu = false }: LaunchOptions = {}): Promise<AnyBrowser> {
    const browser = await launch({ gpu });
    const context = await browser.newContext();
    const complaints: string[] = [];
    return {
        complaints,
        newTab: async (): Promise<Tab> => {
            const page = await context.newPage();
            page.on('pageerror', (error) => complaints.push(String(error)));
            page.on('console', (message) => {
                if (message.type() === 'error') complaints.push(message.text());
            });
            return {
                goto: async (url) => void (await page.goto(url)),
                run: async (code) => JSON.parse(await page.evaluate(`Promise.resolve(${code}).then((x) => JSON.stringify(x ?? null))`)),
                close: async () => await page.close(),
            };
        },
        close: async () => await browser.close(),
        kill: async () => await browser.close(),
    };
}

export const chromium: Kind = {
    name: 'Chromium',
    missing: chromiumIsThere ? false : `${chromiumPath} is not there (Debian: chromium)`,
    launch: open,
};
