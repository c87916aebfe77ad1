// What every end-to-end test needs: the site, a browser, and a person without a past.
import { after, before } from 'node:test';
import type { Browser, BrowserContext, BrowserContextOptions } from 'playwright-core';
import { chromiumIsThere, chromiumPath, launch } from './browser.js';
import { Site } from './site.js';

export interface App {
    /** Why the tests cannot run here. */
    skip: string | false;
    readonly site: Site;
    /** Nothing is stored or cached when `work` begins. */
    visit<Result>(work: (context: BrowserContext) => Promise<Result>, options?: BrowserContextOptions): Promise<Result>;
    /** What a driver that restarts does to every page. */
    crashGpu(): Promise<void>;
}

/** To be called at the top of a test file. */
export function openApp(options: { gpu?: boolean } = {}): App {
    const skip = chromiumIsThere ? false : `${chromiumPath} is not there`;
    let site: Site | undefined;
    let browser: Browser | undefined;
    before(async () => {
        if (skip) return;
        site = await Site.start();
        browser = await launch(options);
    });
    after(async () => {
        await browser?.close();
        site?.stop();
    });
    const there = <Thing>(thing: Thing | undefined): Thing => {
        if (!thing) throw new Error('the test has not begun');
        return thing;
    };
    return {
        skip,
        get site() {
            return there(site);
        },
        visit: async (work, contextOptions = {}) => {
            const context = await there(browser).newContext(contextOptions);
            try {
                return await work(context);
            } finally {
                await context.close();
            }
        },
        crashGpu: async () => {
            const session = await there(browser).newBrowserCDPSession();
            await session.send('Browser.crashGpuProcess');
        },
    };
}
