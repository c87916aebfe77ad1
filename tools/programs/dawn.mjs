// What Dawn gives a driver for a shader with its constants.
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const child = fileURLToPath(new URL('dawn-child.mjs', import.meta.url));

/** A process of its own: what Dawn prints is not printed by JavaScript. */
export class Dawn {
    async start() {
        this.process = spawn(process.execPath, [child], { stdio: ['pipe', 'pipe', 'inherit'] });
        this.lines = createInterface({ input: this.process.stdout })[Symbol.asyncIterator]();
        const { end } = await this.upToTheEnd();
        if (end !== 'ready') throw new Error(`Dawn does not start: ${end}`);
    }

    /** { spirv }, the disassembly; or { error }. One at a time. */
    async compile(code, constants) {
        if (!this.process) await this.start();
        this.process.stdin.write(`${JSON.stringify({ code, constants })}\n`);
        const { printed, end } = await this.upToTheEnd();
        const begin = printed.indexOf('/* Dumped SPIRV disassembly */');
        if (end !== 'compiled' && begin < 0) return { error: end };
        if (begin < 0) return { error: 'Dawn printed no SPIR-V' };
        const isSpirv = (line) => /^\s*(;|Op|%)/.test(line);
        const after = printed.slice(begin + 1);
        const length = after.findIndex((line) => !isSpirv(line) && line.trim() !== '');
        return { spirv: after.slice(0, length < 0 ? undefined : length).join('\n') };
    }

    async upToTheEnd() {
        const printed = [];
        for (;;) {
            const { value, done } = await this.lines.next();
            if (done) {
                this.process = undefined; // the next shader gets another one
                return { printed, end: `Dawn ended: ${printed.slice(-3).join(' ')}` };
            }
            if (value.startsWith('@@@ ')) return { printed, end: value.slice(4) };
            printed.push(value);
        }
    }

    stop() {
        this.process?.stdin.end();
    }
}
