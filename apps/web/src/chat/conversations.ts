// The conversations as the views see them: a list, one that is open, and what can be done with them.
import {
    ancestorsOf,
    choose,
    pathOf,
    type Conversation,
    type Message,
    type Step,
} from '../store/conversation.js';
import type { Database } from '../store/database.js';
import { drafts } from '../store/drafts.js';
import { newId } from '../store/ids.js';
import { Observable } from '../store/observable.js';
import { nameOf, partsOf, type Part } from '../store/parts.js';
import { titleFrom } from '../store/title.js';
import { Answer } from './answer.js';
import type { Tool } from '../shell/feature.js';
import { buildRequest, type ChatBackend, type ChatRequest, type RequestSettings } from './backend.js';

// How long a deleted conversation can be brought back by the next visit.
const keepDeletedMs = 60_000;

export interface Opened {
    conversation: Conversation | undefined;
    messages: Message[];
}

export interface ConversationsOptions {
    backend: () => ChatBackend;
    settings: () => RequestSettings;
    /** Those of the app that the model may call. */
    tools: () => Promise<readonly Tool[]>;
    /** Something the person should know: an answer that could not be saved, for instance. */
    onProblem: (text: string) => void;
    /** A message became the start of a new conversation. */
    onCreated: (id: string) => void;
}

export class Conversations {
    readonly list = new Observable<Conversation[]>([]);
    readonly opened = new Observable<Opened>({ conversation: undefined, messages: [] });
    /** The one that will be open as soon as it is read from the disk. What is written meanwhile belongs to it. */
    readonly coming = new Observable<string | undefined>(undefined);
    private opening: Promise<unknown> = Promise.resolve();
    /** The answers being written in this tab, by conversation. */
    readonly answers = new Observable<ReadonlyMap<string, Answer>>(new Map());
    /** Those whose answer another tab writes. */
    private readonly watched = new Set<string>();
    private readonly news: BroadcastChannel | undefined =
        typeof BroadcastChannel === 'undefined' ? undefined : new BroadcastChannel('lapidary-conversations');

    constructor(
        private readonly database: Database | undefined,
        private readonly options: ConversationsOptions,
    ) {
        this.news?.addEventListener('message', ({ data }: MessageEvent<{ conversation: string }>) => {
            void this.refresh(data.conversation);
        });
    }

    async start(): Promise<void> {
        const all = (await this.database?.conversations()) ?? [];
        const gone = all.filter(({ deletedAt = Infinity }) => deletedAt < Date.now() - keepDeletedMs);
        for (const { id } of gone) {
            await this.database?.remove(id);
            drafts.set(id, '');
        }
        this.list.set(all.filter((conversation) => !gone.includes(conversation)));
        if (gone.length > 0) void this.sweep();
        // The last chance to write before the page goes, as phones do it without asking.
        document.addEventListener('visibilitychange', () => {
            if (document.visibilityState !== 'hidden') return;
            for (const answer of this.answers.value.values()) void answer.saveNow();
        });
    }

    /** Files that no conversation shows any more. */
    private async sweep(): Promise<void> {
        const used = await this.database?.usedFiles();
        if (used) await (await import('../store/media.js')).sweepFiles(used).catch(() => undefined);
    }

    get path(): Step[] {
        const { conversation, messages } = this.opened.value;
        return conversation ? pathOf(conversation, messages) : [];
    }

    /** Undefined opens the empty page of a conversation to come. False when there is no such conversation. */
    async open(id: string | undefined): Promise<boolean> {
        if (id === undefined) this.opened.set({ conversation: undefined, messages: [] });
        const here = this.opened.value.conversation?.id === id;
        this.coming.set(here ? undefined : id);
        if (id === undefined || here) return true;
        const reading = this.read(id);
        this.opening = reading.catch(() => undefined);
        return await reading;
    }

    private async read(id: string): Promise<boolean> {
        try {
            const loaded = await this.load(id);
            const wanted = this.coming.value === id; // else something was opened after it
            if (loaded && wanted) this.opened.set(loaded);
            return loaded !== undefined || !wanted;
        } finally {
            if (this.coming.value === id) this.coming.set(undefined);
        }
    }

    async send(text: string, parts: readonly Part[] = []): Promise<void> {
        if (this.coming.value !== undefined) await this.opening;
        const last = this.path.at(-1)?.message;
        const conversation = this.opened.value.conversation ?? newConversation(text || nameOf(parts[0]));
        const created = this.opened.value.conversation === undefined;
        const message = { ...newMessage(conversation.id, last?.id ?? null, 'user', text), ...partsOf(parts) };
        await this.add(conversation, message);
        if (created) this.options.onCreated(conversation.id);
        await this.answerTo(conversation.id, message);
    }

    /** The same message in other words: a branch beside the old one. */
    async edit(message: Message, text: string): Promise<void> {
        const { conversation } = this.opened.value;
        if (!conversation) return;
        const edited = { ...newMessage(conversation.id, message.parent, 'user', text), ...partsOf(message.parts) };
        const first = message.parent === null && !conversation.titled;
        await this.add(first ? { ...conversation, title: titleFrom(text) } : conversation, edited);
        await this.answerTo(conversation.id, edited);
    }

    /** Another answer to the same question. */
    async regenerate(message: Message): Promise<void> {
        const question = this.opened.value.messages.find(({ id }) => id === message.parent);
        if (question) await this.answerTo(question.conversation, question);
    }

    /** The rest of an answer that was broken off: it grows where it is. */
    async goOn(message: Message): Promise<void> {
        const { conversation, messages } = this.opened.value;
        if (conversation?.id !== message.conversation) return;
        const { problem: _problem, ...kept } = message;
        const { content, reasoning, tokens } = message;
        const request = buildRequest(ancestorsOf(messages, message), this.options.settings());
        request.begun = { content, ...(reasoning ? { reasoning } : {}), ...(tokens ? { tokens } : {}) };
        await this.write(conversation, { ...kept, status: 'streaming' }, request);
    }

    async answerTool(message: Message, callId: string, text: string): Promise<void> {
        const { conversation } = this.opened.value;
        if (!conversation) return;
        const reply = { ...newMessage(conversation.id, message.id, 'tool', text), toolCallId: callId };
        // Several calls are answered one below the other; the model goes on when the last is.
        const last = this.path.at(-1)?.message;
        if (last?.role === 'tool') reply.parent = last.id;
        await this.add(conversation, reply);
        const answered = new Set(this.path.map((step) => step.message.toolCallId));
        if (message.toolCalls?.every(({ id }) => answered.has(id))) await this.answerTo(conversation.id, reply);
    }

    async show(message: Message): Promise<void> {
        const { conversation, messages } = this.opened.value;
        if (!conversation) return;
        const changed = choose(conversation, message);
        this.opened.set({ conversation: changed, messages });
        await this.store(changed);
    }

    stop(): void {
        const { conversation } = this.opened.value;
        if (conversation) this.answers.value.get(conversation.id)?.stop();
    }

    async rename(id: string, title: string): Promise<void> {
        const wanted = title.trim();
        if (wanted !== '') await this.modify(id, (conversation) => ({ ...conversation, title: wanted, titled: true }));
    }

    async remove(id: string): Promise<void> {
        this.answers.value.get(id)?.stop();
        await this.modify(id, (conversation) => ({ ...conversation, deletedAt: Date.now() }));
    }

    async restore(id: string): Promise<void> {
        await this.modify(id, ({ deletedAt: _deletedAt, ...conversation }) => conversation);
    }

    async search(query: string): Promise<Set<string>> {
        return (await this.database?.search(query)) ?? new Set();
    }

    async load(id: string): Promise<{ conversation: Conversation; messages: Message[] } | undefined> {
        const conversation = this.list.value.find((known) => known.id === id) ?? (await this.database?.conversation(id));
        if (!conversation || conversation.deletedAt !== undefined) return undefined;
        const stored = (await this.database?.messages(id)) ?? [];
        return { conversation, messages: await this.settle(id, stored) };
    }

    private async answerTo(id: string, question: Message): Promise<void> {
        const { conversation, messages } = this.opened.value;
        if (conversation?.id !== id) return;
        const tools = await this.options.tools();
        const path = [...ancestorsOf(messages, question), question];
        const request = buildRequest(path, this.options.settings(), tools);
        const answer = await this.write(conversation, newMessage(id, question.id, 'assistant', ''), request);
        if (answer?.toolCalls?.length) await this.runTools(answer, path, tools);
    }

    /** What the app can do by itself it does, and the model goes on with what came of it. */
    private async runTools(message: Message, path: readonly Message[], tools: readonly Tool[]): Promise<void> {
        if (tools.length === 0) return;
        const { runOwn } = await import('./own-tools.js');
        const results = await runOwn(message, path, tools);
        for (const { id, text } of results ?? []) {
            if (this.opened.value.conversation?.id !== message.conversation) return; // who left sends them by hand
            await this.answerTool(message, id, text);
        }
    }

    private async write(conversation: Conversation, start: Message, request: ChatRequest): Promise<Message | undefined> {
        const { id } = conversation;
        if (this.answers.value.has(id)) return undefined;
        const answer = new Answer(start, {
            show: (message) => {
                // Who sees that it is finished may send the next message, before it is on the disk.
                if (message.status !== 'streaming') this.setAnswer(id, undefined);
                this.put(message);
            },
            save: (message) => this.save(message),
        });
        this.setAnswer(id, answer);
        await this.add(conversation, answer.message);
        return await holding(answerLock(id), () => answer.run(this.options.backend(), request));
    }

    private setAnswer(id: string, answer: Answer | undefined): void {
        const answers = new Map(this.answers.value);
        if (answer) answers.set(id, answer);
        else answers.delete(id);
        this.answers.set(answers);
    }

    /** Adds a message and shows the branch it is on. */
    private async add(conversation: Conversation, message: Message): Promise<void> {
        const changed = { ...choose(conversation, message), updatedAt: Date.now() };
        const { messages, conversation: current } = this.opened.value;
        const others = current?.id === conversation.id ? messages.filter(({ id }) => id !== message.id) : [];
        this.opened.set({ conversation: changed, messages: [...others, message] });
        this.putInList(changed);
        await this.guard(async () => await this.database?.save(changed, [message]));
        this.tell(changed.id);
    }

    /** A message changed; it may belong to a conversation that is not open any more. */
    private put(message: Message): void {
        const { conversation, messages } = this.opened.value;
        if (conversation?.id !== message.conversation) return;
        const known = messages.some(({ id }) => id === message.id);
        const changed = known ? messages.map((old) => (old.id === message.id ? message : old)) : [...messages, message];
        this.opened.set({ conversation, messages: changed });
    }

    private async save(message: Message): Promise<void> {
        await this.guard(async () => await this.database?.saveMessage(message));
        this.tell(message.conversation);
    }

    private async modify(id: string, change: (conversation: Conversation) => Conversation): Promise<void> {
        const conversation = this.list.value.find((known) => known.id === id);
        if (conversation) await this.store(change(conversation));
    }

    private async store(conversation: Conversation): Promise<void> {
        this.putInList(conversation);
        const { conversation: current, messages } = this.opened.value;
        if (current?.id === conversation.id) this.opened.set({ conversation, messages });
        await this.guard(async () => await this.database?.saveConversation(conversation));
        this.tell(conversation.id);
    }

    private putInList(conversation: Conversation): void {
        const others = this.list.value.filter(({ id }) => id !== conversation.id);
        this.list.set([conversation, ...others].sort((a, b) => b.updatedAt - a.updatedAt));
    }

    /** Another tab wrote something. */
    private async refresh(id: string): Promise<void> {
        const conversation = await this.database?.conversation(id);
        if (conversation) this.putInList(conversation);
        const { value: before } = this.opened;
        if (before.conversation?.id !== id || this.answers.value.has(id)) return;
        const loaded = await this.load(id);
        if (this.opened.value !== before) return await this.refresh(id); // something was said meanwhile
        if (loaded) this.opened.set(loaded);
    }

    /** Answers of this tab are newer than what is stored; answers nobody is writing any more were interrupted. */
    private async settle(id: string, stored: Message[]): Promise<Message[]> {
        const own = this.answers.value.get(id)?.message;
        if (!stored.some(({ status }) => status === 'streaming')) return stored;
        const alive = await isHeld(answerLock(id));
        if (alive && !own) void this.watchAnswer(id);
        return stored.map((message) => {
            if (message.id === own?.id) return own;
            return message.status === 'streaming' && !alive ? { ...message, status: 'interrupted' } : message;
        });
    }

    /** Another tab writes the answer, and may go before it is finished; the lock of one that has just gone may still be held. */
    private async watchAnswer(id: string): Promise<void> {
        if (this.watched.has(id)) return;
        this.watched.add(id);
        await navigator.locks.request(answerLock(id), () => undefined);
        this.watched.delete(id);
        await this.refresh(id);
    }

    private tell(conversation: string): void {
        this.news?.postMessage({ conversation });
    }

    private async guard(write: () => Promise<unknown>): Promise<void> {
        try {
            await write();
        } catch (error) {
            this.options.onProblem(
                `This conversation could not be saved: ${error instanceof Error ? error.message : String(error)}`,
            );
        }
    }
}

function newConversation(text: string): Conversation {
    const now = Date.now();
    return { id: newId(), title: titleFrom(text), titled: false, createdAt: now, updatedAt: now, chosen: {} };
}

let lastTime = 0;

function newMessage(conversation: string, parent: string | null, role: Message['role'], content: string): Message {
    // Strictly later than the one before: the order of branches hangs on it.
    lastTime = Math.max(Date.now(), lastTime + 1);
    const status = role === 'assistant' ? 'streaming' : 'complete';
    return { id: newId(), conversation, parent, createdAt: lastTime, role, content, status };
}

const answerLock = (conversation: string) => `lapidary-answer-${conversation}`;

/** Web Locks exist on secure pages only; without them another tab cannot know that an answer is alive. */
async function holding<T>(name: string, work: () => Promise<T>): Promise<T> {
    const locks = navigator.locks as LockManager | undefined;
    return locks ? await locks.request(name, { mode: 'shared' }, work) : await work();
}

async function isHeld(name: string): Promise<boolean> {
    const locks = navigator.locks as LockManager | undefined;
    const { held = [] } = (await locks?.query()) ?? {};
    return held.some((lock) => lock.name === name);
}
