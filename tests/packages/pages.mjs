// Pages in Chromium, the servers they come from, and the processes in between.
import { spawn } from 'node:child_process';
import { existsSync, promises as fs } from 'node:fs';
import { createServer } from 'node:http';
import path from 'node:path';
import { chromium } from 'playwright-core';

const executablePath = '/usr/bin/chromium';
export const noBrowser = existsSync(executablePath) ? false : `there is no browser at ${executablePath}`;

const types = { '.html': 'text/html', '.js': 'text/javascript', '.wasm': 'application/wasm' };
const patienceMs = 180_000;

/** The simplest server there is: it knows no ranges. Calls `work` with its address. */
export async function serving(folder, work) {
    const server = createServer(async (request, response) => {
        const { pathname } = new URL(request.url, 'http://localhost');
        try {
            const file = path.join(folder, pathname === '/' ? 'index.html' : pathname);
            const body = await fs.readFile(file);
            const type = types[path.extname(file)] ?? 'application/octet-stream';
            response.writeHead(200, { 'content-type': type, 'content-length': body.length }).end(body);
        } catch {
            response.writeHead(404).end();
        }
    });
    await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
    try {
        return await work(`http://127.0.0.1:${server.address().port}/`);
    } finally {
        server.closeAllConnections();
        server.close();
    }
}

/** Opens a page and waits for what it puts into `window.results` under these names. */
export async function results(url, names) {
    const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
    try {
        const page = await browser.newPage();
        const errors = [];
        page.on('pageerror', (error) => errors.push(error.message));
        await page.goto(url, { timeout: patienceMs });
        const found = {};
        for (const name of names) {
            try {
                const handle = await page.waitForFunction((key) => window.results?.[key], name, { timeout: patienceMs });
                found[name] = await handle.jsonValue();
            } catch (cause) {
                throw new Error(`the page never told '${name}': ${errors.join('; ') || 'no error'}`, { cause });
            }
        }
        return found;
    } finally {
        await browser.close();
    }
}

/** A program's output and status. One that does not end by itself is killed, and has none. */
export async function run(cwd, command, args, env = {}) {
    const child = spawn(command, args, { cwd, env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => (output += text));
    const timer = setTimeout(() => child.kill('SIGKILL'), 2 * patienceMs);
    const status = await new Promise((resolve, reject) => {
        child.on('error', reject);
        child.on('close', resolve);
    });
    clearTimeout(timer);
    return { status, output };
}

/** Runs a server that is a program, and calls `work` with its address as soon as something answers there. */
export async function running(cwd, command, argsFor, work) {
    const port = await freePort();
    const child = spawn(command, argsFor(port), { cwd, env: process.env, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => (output += text));
    const ended = new Promise((resolve) => child.on('close', resolve));
    const url = `http://127.0.0.1:${port}/`;
    try {
        for (let tries = 0; !(await answers(url)); tries++) {
            if (child.exitCode !== null || tries === 600) throw new Error(`nothing answers at ${url}: ${output}`);
            await new Promise((resolve) => setTimeout(resolve, 100));
        }
        return await work(url);
    } finally {
        child.kill('SIGTERM');
        await ended;
    }
}

async function answers(url) {
    return await fetch(url).then(
        (response) => response.ok,
        () => false,
    );
}

async function freePort() {
    const server = createServer();
    await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address();
    await new Promise((resolve) => server.close(resolve));
    return port;
}
