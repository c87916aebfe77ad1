// Responses that clients may come back to: `previous_response_id`, references to single items, GET and DELETE. In memory,
// and not for ever: the oldest go first.
import type { JsonObject } from 'lapidary';

export interface StoredResponse {
    response: JsonObject;
    /** All that was said before the answer, that of earlier responses included. */
    items: readonly JsonObject[];
}

interface Kept extends StoredResponse {
    bytes: number;
}

export class ResponseStore {
    private readonly kept = new Map<string, Kept>();
    private readonly items = new Map<string, JsonObject>();
    private bytes = 0;
    private readonly running = new Map<string, AbortController>();

    constructor(
        private readonly mostResponses = 500,
        private readonly mostBytes = 64 * 1024 * 1024,
    ) {}

    get(id: string): StoredResponse | undefined {
        return this.kept.get(id);
    }

    item(id: string): JsonObject | undefined {
        return this.items.get(id);
    }

    /** `own`: those of the items that came with this request. Earlier ones are shared with the responses they came with. */
    add(stored: StoredResponse, own: number): void {
        const { response, items } = stored;
        const output = outputOf(response);
        const text = JSON.stringify([own > 0 ? items.slice(-own) : [], response]);
        const bytes = 2 * text.length + 8 * items.length;
        this.remove(idOf(response));
        this.kept.set(idOf(response), { ...stored, bytes });
        this.bytes += bytes;
        for (const item of output) this.items.set(idOf(item), item);
        while (this.kept.size > this.mostResponses || this.bytes > this.mostBytes) {
            const [oldest] = this.kept.keys();
            if (oldest === undefined) break;
            this.remove(oldest);
        }
    }

    remove(id: string): boolean {
        const kept = this.kept.get(id);
        if (!kept) return false;
        this.kept.delete(id);
        this.bytes -= kept.bytes;
        for (const item of outputOf(kept.response)) this.items.delete(idOf(item));
        return true;
    }

    /** While an answer is written, `cancel` can stop it. */
    begin(id: string): AbortController {
        const stop = new AbortController();
        this.running.set(id, stop);
        return stop;
    }

    end(id: string): void {
        this.running.delete(id);
    }

    cancel(id: string): boolean {
        const stop = this.running.get(id);
        stop?.abort();
        return stop !== undefined;
    }
}

function idOf(object: JsonObject): string {
    return String(object['id']);
}

function outputOf({ output }: JsonObject): JsonObject[] {
    return Array.isArray(output) ? (output as JsonObject[]) : [];
}
