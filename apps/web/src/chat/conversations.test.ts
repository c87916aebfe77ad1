import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import type { Conversation, Message } from '../store/conversation.js';
import type { Database } from '../store/database.js';
import type { ChatBackend } from './backend.js';
import { Conversations } from './conversations.js';

before(() => {
    // It would keep the process alive.
    Reflect.deleteProperty(globalThis, 'BroadcastChannel');
    // As on pages that are not secure: no locks.
    Object.defineProperty(globalThis, 'navigator', { value: {} });
});

/** A disk that gives what it has when it is told to. */
class Disk {
    readonly kept = new Map<string, Message[]>();
    readonly saved: Message[] = [];
    private readonly readers: (() => void)[] = [];
    slow = false;
    /** While it is set nothing that is written arrives. */
    writing: Promise<void> | undefined;

    goOn(number = 0): void {
        this.readers.splice(number, 1)[0]?.();
    }

    database(): Database {
        const write = async (messages: readonly Message[]) => {
            await this.writing;
            this.saved.push(...messages);
        };
        const disk: Partial<Database> = {
            conversation: async (id) => (this.kept.has(id) ? conversation(id) : undefined),
            messages: async (id) => {
                if (this.slow) await new Promise<void>((resolve) => this.readers.push(resolve));
                return this.kept.get(id) ?? [];
            },
            save: async (_, messages) => await write(messages),
            saveMessage: async (message) => await write([message]),
        };
        return disk as Database;
    }
}

function conversation(id: string): Conversation {
    return { id, title: id, titled: true, createdAt: 1, updatedAt: 1, chosen: {} };
}

function setUp(answer: ChatBackend['answer'] = async () => ({ finish: 'stop', model: 'm' })) {
    const disk = new Disk();
    for (const id of ['a', 'b']) disk.kept.set(id, []);
    const conversations = new Conversations(disk.database(), {
        backend: () => ({ answer }),
        settings: () => ({ system: '', thinking: false, tools: '' }),
        tools: async () => [],
        onProblem: (text) => assert.fail(text),
        onCreated: () => undefined,
    });
    return { disk, conversations, shown: () => conversations.opened.value.conversation?.id };
}

/** Whatever can go on without being told has done so. */
async function settled(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve));
}

test('what is sent while a conversation is read from the disk belongs to it', async () => {
    const { disk, conversations, shown } = setUp();
    disk.slow = true;
    const opening = conversations.open('a');
    assert.equal(conversations.coming.value, 'a');
    const sending = conversations.send('Hello');
    await settled();
    assert.equal(disk.saved.length, 0);
    disk.goOn();
    await Promise.all([opening, sending]);
    assert.equal(shown(), 'a');
    assert.equal(conversations.coming.value, undefined);
    assert.deepEqual(disk.saved.map(({ role, conversation }) => [role, conversation]).slice(0, 2), [['user', 'a'], ['assistant', 'a']]);
});

test('of two conversations the one that was opened last is open, whichever is read first', async () => {
    const { disk, conversations, shown } = setUp();
    disk.slow = true;
    const opened = [conversations.open('a'), conversations.open('b')];
    await settled();
    disk.goOn(1);
    await opened[1];
    assert.equal(shown(), 'b');
    disk.goOn();
    assert.equal(await opened[0], true, 'it is there, and nobody looks at it');
    assert.equal(shown(), 'b');
    const left = conversations.open('a');
    await conversations.open(undefined);
    await settled();
    disk.goOn();
    await left;
    assert.equal(shown(), undefined);
});

test('one that is not there is not opened', async () => {
    const { conversations } = setUp();
    assert.equal(await conversations.open('nobody'), false);
    assert.equal(conversations.coming.value, undefined);
});

test('the next message can be sent as soon as the answer is seen to be finished, before it is on the disk', async () => {
    let arrive = () => undefined as void;
    const { disk, conversations } = setUp(async () => {
        disk.writing ??= new Promise((resolve) => (arrive = resolve));
        return { finish: 'stop', model: 'm' };
    });
    const statuses = () => conversations.path.map(({ message }) => message.status);
    await conversations.open('a');
    const first = conversations.send('One');
    while (statuses()[1] !== 'complete') await settled();
    assert.equal(conversations.answers.value.size, 0);
    const second = conversations.send('Two');
    assert.equal(conversations.path.length, 3);
    arrive();
    await Promise.all([first, second]);
    assert.deepEqual(statuses(), ['complete', 'complete', 'complete', 'complete']);
});
