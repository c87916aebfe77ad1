// WebKitGTK's MiniBrowser, driven over WebDriver: a few requests, for which fetch is enough. It wants a display.
import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import type { AnyBrowser, Kind, Tab } from './tab.js';

const miniBrowser = process.env['MINIBROWSER'] ?? '/usr/lib/x86_64-linux-gnu/webkit2gtk-4.1/MiniBrowser';
const driver = '/usr/bin/WebKitWebDriver';
const display = '/usr/bin/Xvfb';
const missing = [driver, miniBrowser, display].find((file) => !existsSync(file));
const patienceMs = 120_000;

async function launch(): Promise<AnyBrowser> {
    const started: ChildProcess[] = [];
    const end = () => started.forEach((child) => child.kill('SIGKILL'));
    try {
        const screen = spawn(display, ['-displayfd', '3', '-screen', '0', '1280x900x24', '-nolisten', 'tcp'], {
            stdio: ['ignore', 'ignore', 'ignore', 'pipe'],
        });
        started.push(screen);
        const number = await new Promise<string>((resolve, reject) => {
            screen.stdio[3]?.once('data', (bytes: Buffer) => resolve(bytes.toString().trim()));
            screen.once('exit', () => reject(new Error('Xvfb ended')));
        });
        const port = await freePort();
        const env = {
            ...process.env,
            DISPLAY: `:${number}`,
            // Its sandbox needs namespaces, which root and containers do not get.
            ...(process.getuid?.() === 0 ? { WEBKIT_DISABLE_SANDBOX_THIS_IS_DANGEROUS: '1' } : {}),
        };
        started.push(spawn(driver, [`--port=${port}`, '--host=127.0.0.1'], { env, stdio: 'ignore' }));
        const at = `http://127.0.0.1:${port}`;
        await untilReady(at);
        const options = { binary: miniBrowser, args: ['--automation'] };
        const made = (await ask(at, 'POST', '/session', {
            capabilities: { alwaysMatch: { 'webkitgtk:browserOptions': options } },
        })) as { sessionId: string };
        return new WebKit(`${at}/session/${made.sessionId}`, end);
    } catch (error) {
        end();
        throw error;
    }
}

class WebKit implements AnyBrowser {
    readonly complaints: string[] = []; // it does not tell
    private tabs = 0;
    /** Commands go to the tab that was switched to: one after the other. */
    private turn: Promise<unknown> = Promise.resolve();

    constructor(
        private readonly session: string,
        private readonly end: () => void,
    ) {}

    async newTab(): Promise<Tab> {
        const handle = await this.inTurn(async () => {
            await ask(this.session, 'POST', '/timeouts', { script: patienceMs, pageLoad: patienceMs });
            if (this.tabs++ === 0) return String(await ask(this.session, 'GET', '/window'));
            return ((await ask(this.session, 'POST', '/window/new', { type: 'tab' })) as { handle: string }).handle;
        });
        const inTab = async (method: string, path: string, body?: object) =>
            await this.inTurn(async () => {
                await ask(this.session, 'POST', '/window', { handle });
                return await ask(this.session, method, path, body);
            });
        return {
            goto: async (url) => void (await inTab('POST', '/url', { url })),
            run: async (code) => {
                const script = `const done = arguments[arguments.length - 1];
                    Promise.resolve().then(() => ${code}).then((x) => done(JSON.stringify({ value: x ?? null })), (error) => done(JSON.stringify({ error: String(error) })));`;
                const answer = JSON.parse(String(await inTab('POST', '/execute/async', { script, args: [] }))) as { value: unknown; error?: string };
                if (answer.error !== undefined) throw new Error(answer.error);
                return answer.value;
            },
            close: async () => void (await inTab('DELETE', '/window')),
        };
    }

    async close(): Promise<void> {
        await ask(this.session, 'DELETE', '').catch(() => undefined);
        this.end();
    }

    async kill(): Promise<void> {
        this.end();
    }

    private async inTurn<T>(work: () => Promise<T>): Promise<T> {
        const mine = this.turn.then(work);
        this.turn = mine.catch(() => undefined);
        return await mine;
    }
}

async function ask(at: string, method: string, path: string, body?: object): Promise<unknown> {
    const response = await fetch(at + path, {
        method,
        ...(body ? { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } } : {}),
        signal: AbortSignal.timeout(patienceMs),
    });
    const { value } = (await response.json()) as { value: unknown };
    if (!response.ok) throw new Error(`WebDriver ${method} ${path}: ${(value as { message?: string }).message ?? response.status}`);
    return value;
}

async function untilReady(at: string): Promise<void> {
    for (let tries = 1; ; tries++) {
        try {
            return void (await ask(at, 'GET', '/status'));
        } catch (error) {
            if (tries === 100) throw error;
            await new Promise((resolve) => setTimeout(resolve, 100));
        }
    }
}

async function freePort(): Promise<number> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    await new Promise((resolve) => server.close(resolve));
    return port;
}

export const webkit: Kind = {
    name: 'WebKitGTK',
    missing: missing === undefined ? false : `${missing} is not there (Debian: webkit2gtk-driver and xvfb)`,
    launch,
};
