// What was being written, for each conversation: it waits where it was begun, and a reload does not lose it.

const prefix = 'lapidary-draft-';
// Of the few megabytes the browser allows. What is longer lasts as long as the page.
const longestStored = 200_000;

type Store = Pick<Storage, 'getItem' | 'setItem' | 'removeItem'>;

export class Drafts {
    private readonly texts = new Map<string, string>();

    constructor(private readonly store: () => Store) {}

    get(conversation: string): string {
        const known = this.texts.get(conversation);
        if (known !== undefined) return known;
        const text = this.stored(conversation);
        this.texts.set(conversation, text);
        return text;
    }

    set(conversation: string, text: string): void {
        this.texts.set(conversation, text);
        const key = prefix + conversation;
        try {
            const store = this.store();
            // First: a text that has grown too long must not leave an old one behind.
            store.removeItem(key);
            if (text !== '' && text.length <= longestStored) store.setItem(key, text);
        } catch {
            // Storage is full or forbidden.
        }
    }

    private stored(conversation: string): string {
        try {
            return this.store().getItem(prefix + conversation) ?? '';
        } catch {
            return '';
        }
    }
}

export const drafts = new Drafts(() => localStorage);
