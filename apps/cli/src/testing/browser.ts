// The library in a headless Chromium with its software GPU, as a page served from this repository.
import { existsSync, promises as fs, readFileSync } from 'node:fs';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import type { CheckReport, CheckRequest, KvFormat } from 'lapidary';
import { chromium, type Browser, type Page } from 'playwright-core';
import { needsEngine, root } from './process.js';

const executablePath = '/usr/bin/chromium';
const softwareGpu = JSON.parse(readFileSync(path.join(root, 'tests', 'software-gpu.json'), 'utf8')) as { chromium: string[] };

/** What tests/browser/index.html offers. */
interface PageFunctions {
    check(request: CheckRequest): Promise<CheckReport>;
    logits(request: { url: string; tokens: number[]; kv: KvFormat }): Promise<number[]>;
}

declare global {
    interface Window {
        lapidaryTests?: PageFunctions;
    }
}

/** The option of a test that needs the browser: says why it is skipped when there is none. */
export function needsBrowser(): { skip: string | false } {
    return existsSync(executablePath) ? needsEngine() : { skip: `there is no browser at ${executablePath}` };
}

export class TestPage implements PageFunctions {
    private constructor(
        private readonly server: http.Server,
        private readonly browser: Browser,
        private readonly page: Page,
    ) {}

    static async open(): Promise<TestPage> {
        const server = http.createServer((request, response) => {
            void serve(request.url ?? '/', response);
        });
        await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
        const browser = await chromium.launch({ executablePath, args: [...softwareGpu.chromium, '--no-sandbox'] });
        const page = await browser.newPage();
        page.setDefaultTimeout(300_000);
        await page.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
        await page.waitForFunction(() => window.lapidaryTests !== undefined);
        return new TestPage(server, browser, page);
    }

    async close(): Promise<void> {
        await this.browser.close();
        this.server.close();
    }

    async check(request: CheckRequest): Promise<CheckReport> {
        return await this.page.evaluate((value) => window.lapidaryTests!.check(value), request);
    }

    async logits(request: Parameters<PageFunctions['logits']>[0]): Promise<number[]> {
        return await this.page.evaluate((value) => window.lapidaryTests!.logits(value), request);
    }
}

const folders: Record<string, string> = {
    lapidary: path.join(root, 'packages', 'lapidary', 'dist'),
    'hash-wasm': path.join(root, 'node_modules', 'hash-wasm', 'dist'),
    fixtures: path.join(root, 'tests', 'data', 'fixtures'),
};
const types: Record<string, string> = {
    '.html': 'text/html',
    '.js': 'text/javascript',
    '.wasm': 'application/wasm',
};

async function serve(url: string, response: http.ServerResponse): Promise<void> {
    const [folder = '', ...rest] = new URL(url, 'http://localhost').pathname.slice(1).split('/');
    const base = folders[folder];
    const file = base ? path.join(base, ...rest) : path.join(root, 'tests', 'browser', folder || 'index.html');
    try {
        const bytes = await fs.readFile(file);
        response.writeHead(200, { 'content-type': types[path.extname(file)] ?? 'application/octet-stream' }).end(bytes);
    } catch {
        response.writeHead(404).end();
    }
}
