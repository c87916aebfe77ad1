// What was attached to messages that are not sent yet, by conversation. It lasts as long as the page.
import { Observable } from '../store/observable.js';
import type { Part } from '../store/parts.js';

const none: readonly Part[] = [];

export class Attached {
    readonly all = new Observable<ReadonlyMap<string, readonly Part[]>>(new Map());

    /** `conversation`: `new` for the one to come. */
    of(conversation: string): readonly Part[] {
        return this.all.value.get(conversation) ?? none;
    }

    set(conversation: string, parts: readonly Part[]): void {
        const all = new Map(this.all.value);
        if (parts.length > 0) all.set(conversation, parts);
        else all.delete(conversation);
        this.all.set(all);
    }

    add(conversation: string, parts: readonly Part[]): void {
        this.set(conversation, [...this.of(conversation), ...parts]);
    }

    replace(conversation: string, part: Part, by: Part): void {
        this.set(conversation, this.of(conversation).map((other) => (other === part ? by : other)));
    }

    remove(conversation: string, part: Part): void {
        this.set(conversation, this.of(conversation).filter((other) => other !== part));
    }

    /** For the message that is sent now. */
    take(conversation: string): readonly Part[] {
        const parts = this.of(conversation);
        this.set(conversation, none);
        return parts;
    }
}

export const attached = new Attached();
