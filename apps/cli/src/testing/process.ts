// Runs the command line as a person would: as a process, through bin/lapidary.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { promises as fs } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import type { TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { engineFile } from 'lapidary/node';

export const root = fileURLToPath(new URL('../../../../', import.meta.url));
const launcher = path.join(root, 'bin', 'lapidary');

const cache = process.env['LAPIDARY_CACHE'] ?? '/dev/null/lapidary';

export interface Outcome {
    status: number | null;
    stdout: string;
    stderr: string;
}

export interface RunOptions {
    env?: Record<string, string>;
    input?: string;
    cwd?: string;
    /** Sends Ctrl-C once this appears on stdout. */
    interruptAfter?: RegExp;
    /** Called once, as soon as this appears on stdout. */
    when?: { appears: RegExp; then: () => void };
    timeoutMs?: number;
    /** Sends Ctrl-C. */
    signal?: AbortSignal;
}

export async function lapidary(args: readonly string[], options: RunOptions = {}): Promise<Outcome> {
    const child = spawn(process.execPath, [launcher, ...args], {
        cwd: options.cwd ?? root,
        // No store of the person who runs the tests, and nothing remembered but where all tests do (tools/test).
        env: { ...process.env, OLLAMA_MODELS: '/nonexistent', LAPIDARY_MODELS: '/nonexistent', LAPIDARY_CACHE: cache, LAPIDARY_BACKEND: 'cpu', ...options.env },
        stdio: ['pipe', 'pipe', 'pipe'],
    });
    const outcome: Outcome = { status: null, stdout: '', stderr: '' };
    options.signal?.addEventListener('abort', () => child.kill('SIGINT'));
    let interrupted = false;
    let seen = false;
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
        outcome.stdout += text;
        if (!interrupted && options.interruptAfter?.test(outcome.stdout)) {
            interrupted = true;
            child.kill('SIGINT');
        }
        if (!seen && options.when?.appears.test(outcome.stdout)) {
            seen = true;
            options.when.then();
        }
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => (outcome.stderr += text));
    child.stdin.on('error', () => undefined); // it may have left without reading
    child.stdin.end(options.input ?? '');
    const timer = setTimeout(() => child.kill('SIGKILL'), options.timeoutMs ?? 300_000);
    outcome.status = await new Promise((resolve, reject) => {
        child.on('error', reject);
        child.on('close', resolve);
    });
    clearTimeout(timer);
    return outcome;
}

export async function temporaryFolder(t: TestContext): Promise<string> {
    const made = await fs.mkdtemp(path.join(os.tmpdir(), 'lapidary-cli-'));
    t.after(() => fs.rm(made, { recursive: true, force: true }));
    return made;
}

/** The option of a test that needs the real engine: says why it is skipped when that was not built. */
export function needsEngine(): { skip: string | false } {
    const file = engineFile();
    return { skip: existsSync(file) ? false : `the engine is not built (${file})` };
}
