// The conversation on a terminal: lines in, answers out, and commands that start with a slash.
import { promises as fs } from 'node:fs';
import { createInterface, type Interface } from 'node:readline';
import { LapidaryError, cancelledError, messageOf, type GenerateEvent } from 'lapidary';
import { fileError } from 'lapidary/node';
import { DraftView } from '../canvas/draft.js';
import type { Interrupts } from '../interrupt.js';
import { describeMedia, readMedia, type MediaKind, type Senses } from '../media.js';
import { describeSpeed } from '../stats.js';
import { ProgressLine, colours, safeFor } from '../terminal.js';
import type { Conversation } from './conversation.js';
import { WordWrap } from './wrap.js';

const help = `/help          this list
/system TEXT   how the model should behave; without TEXT, nothing special
/think         switch thinking before the answer on or off
/reset         start over
/image FILE    a picture for what you write next; /audio and /video likewise
/retry         answer the last question again
/save FILE     write the conversation as JSON
/stats         how fast the last answer was
/exit          leave (also Ctrl-D)
Ctrl-C stops an answer; pressed again, or here, it leaves.`;

/** Resolves when the person leaves; rejects as cancelled when they leave by Ctrl-C. */
export async function runChat(conversation: Conversation, senses: Senses, interrupts: Interrupts): Promise<void> {
    const interactive = process.stdin.isTTY === true && process.stdout.isTTY === true;
    const lines = createInterface({
        input: process.stdin,
        ...(interactive ? { output: process.stdout, prompt: '> ', historySize: 1000 } : {}),
        crlfDelay: Infinity,
    });
    // On a terminal readline takes Ctrl-C for itself.
    lines.on('SIGINT', () => interrupts.interrupt());
    if (interactive) process.stderr.write('Ask something; /help lists the commands.\n');
    try {
        for await (const line of linesUntilInterrupted(lines, interrupts, interactive)) {
            const text = line.trim();
            if (text === '') continue;
            try {
                if (!(await handle(text, conversation, senses, interrupts))) return;
            } catch (error) {
                if (!(error instanceof LapidaryError)) throw error;
                // A person goes on after a failed or stopped answer; a script wants to know.
                if (!interactive) throw error;
                if (error.code !== 'cancelled') process.stderr.write(`lapidary: ${error.message}\n`);
                interrupts.renew();
            }
        }
    } finally {
        lines.close();
    }
}

async function* linesUntilInterrupted(
    lines: Interface,
    interrupts: Interrupts,
    interactive: boolean,
): AsyncGenerator<string> {
    const waiting: string[] = [];
    let ended = false;
    let wake: () => void = () => undefined;
    lines.on('line', (line) => {
        waiting.push(line);
        wake();
    });
    lines.on('close', () => {
        ended = true;
        wake();
    });
    for (;;) {
        const next = waiting.shift();
        if (next !== undefined) {
            yield next;
            continue;
        }
        if (ended) return;
        const { signal } = interrupts;
        if (interactive) lines.prompt();
        await new Promise<void>((resolve) => {
            wake = () => {
                signal.removeEventListener('abort', wake);
                resolve();
            };
            signal.addEventListener('abort', wake);
        });
        if (signal.aborted) {
            if (interactive) process.stdout.write('\n');
            throw cancelledError();
        }
    }
}

/** False when the person wants to leave. */
async function handle(text: string, conversation: Conversation, senses: Senses, interrupts: Interrupts): Promise<boolean> {
    if (!text.startsWith('/')) {
        await answering(interrupts, (...show) => conversation.say(text, ...show));
        return true;
    }
    const [command = '', ...words] = text.split(/\s+/);
    const rest = words.join(' ');
    const say = (line: string) => process.stderr.write(`${line}\n`);
    switch (command) {
        case '/exit':
        case '/quit':
            return false;
        case '/help':
            say(help);
            return true;
        case '/system':
            conversation.system = text.slice(command.length).trim() || undefined;
            say(conversation.system ? 'The model will keep that in mind.' : 'No special behaviour any more.');
            return true;
        case '/think':
            conversation.thinking = !conversation.thinking;
            say(conversation.thinking ? 'The model thinks before it answers.' : 'The model answers at once.');
            return true;
        case '/reset':
            conversation.reset();
            say('Everything said so far is forgotten.');
            return true;
        case '/retry':
            if (!conversation.takeBack()) say('There is nothing to answer yet.');
            else await answering(interrupts, (...show) => conversation.answer(...show));
            return true;
        case '/image':
        case '/audio':
        case '/video': {
            const file = unquoted(text.slice(command.length).trim());
            if (file === '') {
                say(`Say which: ${command} FILE`);
                return true;
            }
            const kind = command.slice(1) as MediaKind;
            const part = await readMedia(kind, file, undefined, senses.open.engine, interrupts.signal);
            const info = await senses.measure(part, interrupts.signal);
            conversation.attached.push(part);
            say(`${describeMedia(part.name ?? file, info)}. It goes with what you write next.`);
            if (kind === 'audio' && conversation.thinking) say('Models often imagine things when they think about sound; /think switches that off.');
            return true;
        }
        case '/stats':
            say(conversation.lastResult ? describeSpeed(conversation.lastResult) : 'There was no answer yet.');
            return true;
        case '/save':
            if (rest === '') say('Say where: /save FILE');
            else await save(conversation, text.slice(command.length).trim(), say);
            return true;
        default:
            say(`There is no command ${command}; /help lists them.`);
            return true;
    }
}

/** As terminals paste the name of a file that was dropped on them. */
function unquoted(text: string): string {
    const quoted = /^'(.*)'$|^"(.*)"$/.exec(text);
    return quoted ? (quoted[1] ?? quoted[2] ?? '') : text.replace(/\\ /g, ' ');
}

type Show = [signal: AbortSignal, onEvent: (event: GenerateEvent) => void, onProgress: ProgressLine['update']];

async function answering(interrupts: Interrupts, work: (...show: Show) => Promise<void>): Promise<void> {
    const { dim } = colours(process.stdout);
    const progress = new ProgressLine('reading', 'tokens');
    // A pipe gets the text as it is.
    const wrap = process.stdout.isTTY === true ? new WordWrap(() => process.stdout.columns || 80) : undefined;
    let shown = '';
    let kind = '';
    const view = new DraftView();
    const write = (text: string) => view.write(kind === 'reasoning' ? dim(text) : text);
    const endPart = () => wrap && write(wrap.end());
    const onEvent = (event: GenerateEvent) => {
        progress.clear();
        if (event.type === 'draft') view.show(event);
        if (event.type !== 'content' && event.type !== 'reasoning') return; // no tools are offered here
        // Thoughts are for eyes only: a pipe gets the answer.
        if (event.type === 'reasoning' && process.stdout.isTTY !== true) return;
        if (kind === 'reasoning' && event.type === 'content') {
            endPart();
            view.write('\n\n');
            wrap?.restart();
        }
        kind = event.type;
        shown += event.text;
        const text = safeFor(process.stdout, event.text);
        write(wrap?.add(text) ?? text);
    };
    try {
        await work(interrupts.signal, onEvent, progress.update);
    } finally {
        progress.clear();
        view.clear();
        endPart();
        if (shown !== '' && !shown.endsWith('\n')) process.stdout.write('\n');
    }
}

async function save(conversation: Conversation, file: string, say: (line: string) => void): Promise<void> {
    try {
        // `wx` refuses a file that exists: a wrong name is quickly typed, and would overwrite something else.
        await fs.writeFile(file, `${JSON.stringify({ messages: conversation.told }, null, 2)}\n`, { flag: 'wx' });
        say(`Saved to ${file}.`);
    } catch (error) {
        const exists = error instanceof Error && 'code' in error && error.code === 'EEXIST';
        say(exists ? `'${file}' exists already; choose another name.` : messageOf(fileError(error, file, 'written')));
    }
}
