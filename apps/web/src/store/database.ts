// Conversations in IndexedDB. One record a message, so that saving a streaming answer writes that answer and nothing else.
import { filesOf, isFile } from './parts.js';
import { openDB, type DBSchema, type IDBPDatabase } from 'idb';
import { matches, type Conversation, type Message } from './conversation.js';

interface Schema extends DBSchema {
    conversations: { key: string; value: Conversation };
    messages: { key: string; value: Message; indexes: { conversation: string } };
}

export class Database {
    private constructor(private readonly db: IDBPDatabase<Schema>) {}

    static async open(): Promise<Database> {
        const db = await openDB<Schema>('lapidary', 1, {
            upgrade: (created) => {
                created.createObjectStore('conversations', { keyPath: 'id' });
                created.createObjectStore('messages', { keyPath: 'id' }).createIndex('conversation', 'conversation');
            },
            // A newer version of the app in another tab wants to change the tables: let it, and start afresh.
            blocking: (_current, _wanted, event) => {
                (event.target as IDBDatabase).close();
                location.reload();
            },
        });
        return new Database(db);
    }

    /** Newest first, the deleted ones too. */
    async conversations(): Promise<Conversation[]> {
        const all = await this.db.getAll('conversations');
        return all.sort((a, b) => b.updatedAt - a.updatedAt);
    }

    async conversation(id: string): Promise<Conversation | undefined> {
        return await this.db.get('conversations', id);
    }

    async messages(conversation: string): Promise<Message[]> {
        return await this.db.getAllFromIndex('messages', 'conversation', conversation);
    }

    async saveConversation(conversation: Conversation): Promise<void> {
        await this.db.put('conversations', conversation);
    }

    async saveMessage(message: Message): Promise<void> {
        await this.db.put('messages', message);
    }

    /** Both or neither. */
    async save(conversation: Conversation, messages: readonly Message[]): Promise<void> {
        const change = this.db.transaction(['conversations', 'messages'], 'readwrite');
        await Promise.all([
            change.objectStore('conversations').put(conversation),
            ...messages.map((message) => change.objectStore('messages').put(message)),
            change.done,
        ]);
    }

    async remove(id: string): Promise<void> {
        const change = this.db.transaction(['conversations', 'messages'], 'readwrite');
        const messages = change.objectStore('messages');
        const keys = await messages.index('conversation').getAllKeys(id);
        await Promise.all([
            change.objectStore('conversations').delete(id),
            ...keys.map((key) => messages.delete(key)),
            change.done,
        ]);
    }

    /** The digests of the files that messages hold. */
    async usedFiles(): Promise<Set<string>> {
        const used = new Set<string>();
        let cursor = await this.db.transaction('messages').store.openCursor();
        while (cursor) {
            for (const part of cursor.value.parts ?? []) if (isFile(part)) for (const { digest } of filesOf(part)) used.add(digest);
            cursor = await cursor.continue();
        }
        return used;
    }

    /** The conversations in which all words of the query occur, in the title or in what was said. */
    async search(query: string): Promise<Set<string>> {
        const texts = new Map<string, string[]>();
        for (const { id, title } of await this.db.getAll('conversations')) texts.set(id, [title]);
        let cursor = await this.db.transaction('messages').store.openCursor();
        while (cursor) {
            texts.get(cursor.value.conversation)?.push(cursor.value.content);
            cursor = await cursor.continue();
        }
        return new Set([...texts].filter(([, said]) => matches(query, ...said)).map(([id]) => id));
    }
}
