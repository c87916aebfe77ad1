// Somebody in front of any browser. What they do is done in the page: the ways to drive browsers have little else in common.
import type { AnyBrowser, Tab } from './tab.js';

const patienceMs = 180_000;
const lookEveryMs = 100;

export class Person {
    private constructor(private readonly tab: Tab) {}

    /** `stored`: what the browser keeps from an earlier visit. */
    static async arrive(browser: AnyBrowser, url: string, stored: Record<string, object> = {}): Promise<Person> {
        const tab = await browser.newTab();
        if (Object.keys(stored).length > 0) {
            await tab.goto(new URL('/icon.svg', url).href);
            await tab.run(`Object.entries(${JSON.stringify(stored)}).forEach(([key, value]) => localStorage.setItem(key, JSON.stringify(value)))`);
        }
        await tab.goto(url);
        return new Person(tab);
    }

    async goto(url: string): Promise<void> {
        await this.tab.goto(url);
    }

    async close(): Promise<void> {
        await this.tab.close();
    }

    /** The function runs in the page and sees nothing but its arguments. */
    async inPage<Args extends unknown[], Result>(work: (...args: Args) => Result, ...args: Args): Promise<Awaited<Result>> {
        return (await this.tab.run(`(${work.toString()})(...${JSON.stringify(args)})`)) as Awaited<Result>;
    }

    /** What the function gives, once that is something. */
    async until<Args extends unknown[], Result>(
        what: string,
        look: (...args: Args) => Result | null | undefined | false,
        ...args: Args
    ): Promise<Result> {
        const since = performance.now();
        for (;;) {
            const found = await this.inPage(look, ...args);
            if (found) return found as Result;
            if (performance.now() - since > patienceMs) {
                const seen = await this.inPage(() => document.body.innerText.slice(0, 2000));
                throw new Error(`${what}: not seen. The page says:\n${seen}`);
            }
            await new Promise((resolve) => setTimeout(resolve, lookEveryMs));
        }
    }

    async untilReady(): Promise<void> {
        await this.until('a loaded model', () => document.querySelector('.chip .dot.ready') !== null);
    }

    async untilText(text: string): Promise<void> {
        await this.until(text, (wanted) => document.body.innerText.includes(wanted), text);
    }

    /** A button or a link, by its words or its label. */
    async click(name: string): Promise<void> {
        await this.until(`'${name}' to click on`, (wanted) => {
            const all = [...document.querySelectorAll<HTMLElement>('button, a, summary')];
            const found = all.find(
                (one) => (one.getAttribute('aria-label') ?? one.innerText).trim() === wanted && !(one as HTMLButtonElement).disabled,
            );
            found?.click();
            return found !== undefined;
        }, name);
    }

    /** By label. */
    async fill(label: string, text: string): Promise<void> {
        await this.until(`'${label}' to write into`, (wanted, value) => {
            const all = [...document.querySelectorAll<HTMLInputElement | HTMLTextAreaElement>('input, textarea')];
            const field = all.find((one) =>
                [one.getAttribute('aria-label'), ...[...(one.labels ?? [])].map((label) => label.innerText)].some((name) => name?.trim().split('\n')[0] === wanted),
            );
            // One that is only a picture of it, until the app is there, takes nothing from a person either.
            if (!field || field.readOnly) return false;
            field.focus();
            field.value = value;
            field.dispatchEvent(new Event('input', { bubbles: true }));
            field.dispatchEvent(new Event('change', { bubbles: true }));
            return true;
        }, label, text);
    }

    async say(text: string): Promise<void> {
        await this.fill('Message', text);
        await this.click('Send');
    }

    /** The text of the answer with this number, once it is finished. */
    async answer(number = 0): Promise<string> {
        return await this.until(`answer ${number}`, (index) => {
            const message = document.querySelectorAll('.message.assistant')[index];
            if (message?.getAttribute('aria-busy') !== 'false') return undefined;
            return message.querySelector('.markdown')?.textContent || message.textContent;
        }, number);
    }
}
