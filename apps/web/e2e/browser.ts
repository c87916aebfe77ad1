// A real browser with a person in front of it.
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { chromium, type Browser, type BrowserContext, type Page } from 'playwright-core';
import { repository } from './site.js';

export const chromiumPath = process.env['CHROMIUM'] ?? '/usr/bin/chromium';
export const chromiumIsThere = existsSync(chromiumPath);

// The machine may be busy, and a GPU in software makes a pipeline in seconds.
const patienceMs = 180_000;

const softwareGpu = JSON.parse(readFileSync(path.join(repository, 'tests/software-gpu.json'), 'utf8')) as { chromium: string[] };

export async function launch({ gpu = true, args: more = [] as string[] } = {}): Promise<Browser> {
    const args = ['--no-sandbox', ...more, ...(gpu ? softwareGpu.chromium : ['--disable-gpu', '--disable-features=WebGPU'])];
    return await chromium.launch({ executablePath: chromiumPath, args });
}

/** One tab and what a person does in it. */
export class Visitor {
    /** Everything that went wrong unnoticed: exceptions and violations of the content security policy. */
    readonly complaints: string[] = [];

    constructor(readonly page: Page) {
        page.setDefaultTimeout(patienceMs);
        page.on('pageerror', (error) => this.complaints.push(String(error)));
        page.on('console', (message) => {
            if (/Content Security Policy/i.test(message.text())) this.complaints.push(message.text());
        });
    }

    static async arrive(context: BrowserContext, url: string): Promise<Visitor> {
        const visitor = new Visitor(await context.newPage());
        await visitor.page.goto(url);
        return visitor;
    }

    get messageBox() {
        return this.page.getByRole('textbox', { name: 'Message', exact: true });
    }

    get answers() {
        return this.page.locator('.message.assistant');
    }

    async untilReady(): Promise<void> {
        await this.page.locator('.chip .dot.ready').waitFor();
    }

    async say(text: string): Promise<void> {
        await this.messageBox.fill(text);
        await this.messageBox.press('Enter');
    }

    /** The text of the answer with this number, once it is finished. */
    async answer(number = 0): Promise<string> {
        const message = this.answers.nth(number);
        await message.waitFor();
        await this.page.locator('.message.assistant[aria-busy="false"]').nth(number).waitFor();
        return await message.locator('.body').innerText();
    }

    /** Some of the answer is there. */
    async untilWriting(number = 0): Promise<void> {
        await this.answers.nth(number).locator('.markdown').waitFor();
    }

    /** The service worker has stored the app and answers for it. */
    async untilKept(): Promise<void> {
        await this.page.waitForFunction(() => navigator.serviceWorker.controller?.state === 'activated');
    }

    /** Workers come and go a moment after what makes them do so. */
    async untilWorkers(count: number): Promise<void> {
        for (let looks = 0; this.page.workers().length !== count; looks++) {
            if (looks * 50 > patienceMs) throw new Error(`the tab has ${this.page.workers().length} workers, not ${count}`);
            await new Promise((resolve) => setTimeout(resolve, 50));
        }
    }

    /** What `look` gives in the page, once that is something. It may take its time, which waitForFunction does not wait for. */
    async until<Found, Arg>(what: string, look: (arg: Arg) => Found | Promise<Found>, arg: Arg): Promise<NonNullable<Found>> {
        const giveUp = performance.now() + patienceMs;
        for (;;) {
            const found = await this.page.evaluate(look as (arg: unknown) => Found | Promise<Found>, arg);
            if (found) return found;
            if (performance.now() > giveUp) throw new Error(`${what}: not seen`);
            await new Promise((resolve) => setTimeout(resolve, 50));
        }
    }

    async untilFocused(label: string): Promise<void> {
        await this.page.waitForFunction((name) => document.activeElement?.getAttribute('aria-label') === name, label);
    }

    checkHarmless(): void {
        assert.deepEqual(this.complaints, []);
    }
}

/** Settings, as they are stored before the page is opened. */
export async function prepareSettings(context: BrowserContext, settings: object): Promise<void> {
    await context.addInitScript((text) => localStorage.setItem('lapidary-settings', text), JSON.stringify(settings));
}

/** Settings changed while the page is open, as by another tab. */
export async function changeSettings(page: Page, settings: object): Promise<void> {
    await page.evaluate((changes) => {
        const stored = JSON.parse(localStorage.getItem('lapidary-settings') ?? '{}') as object;
        const text = JSON.stringify({ ...stored, ...changes });
        localStorage.setItem('lapidary-settings', text);
        dispatchEvent(new StorageEvent('storage', { key: 'lapidary-settings', newValue: text }));
    }, settings);
}
