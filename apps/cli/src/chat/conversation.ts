// What was said so far, and asking for the next answer. Knows nothing about terminals.
import {
    LapidaryError,
    isObject,
    type AdapterUse,
    type DiffusionSettings,
    type GenerateEvent,
    type GenerateRequest,
    type GenerateResult,
    type JsonObject,
    type JsonValue,
    type MediaPart,
    type Message,
    type Progress,
    type Sampling,
} from 'lapidary';
import { contentOf } from '../media.js';

export interface ConversationOptions {
    sampling: Sampling;
    stop: string[];
    maxTokens: number;
    thinking: boolean;
    system?: string;
    adapters?: readonly AdapterUse[];
    /** Puts what the engine knows in place of files. */
    place?: (messages: Message[], signal: AbortSignal) => Promise<JsonObject[]>;
    /** Of a diffusion model: its settings, and whether somebody wants to see drafts. */
    diffusion?: DiffusionSettings;
    drafts?: boolean;
}

/** The part of a session that a conversation needs. */
export interface Answerer {
    generate(
        request: GenerateRequest,
        options: {
            signal?: AbortSignal;
            onProgress?: (progress: Progress) => void;
            onEvent?: (event: GenerateEvent) => void;
        },
    ): Promise<GenerateResult>;
}

export class Conversation {
    thinking: boolean;
    system: string | undefined;
    lastResult: GenerateResult | undefined;
    private turns: Message[] = [];

    constructor(
        private readonly session: Answerer,
        private readonly options: ConversationOptions,
    ) {
        this.thinking = options.thinking;
        this.system = options.system;
    }

    /** For a file that people read: what is not text is named. */
    get told(): JsonObject[] {
        return this.messages.map((message) => ({ ...message, content: toldContent(message.content as unknown as JsonValue) }) as JsonObject);
    }

    get messages(): Message[] {
        const system = this.system ? [{ role: 'system', content: this.system }] : [];
        return [...system, ...this.turns];
    }

    reset(): void {
        this.turns = [];
    }

    /** Files that go with what is said next, before its text. */
    readonly attached: MediaPart[] = [];

    /** Adds what the person said and answers it. */
    async say(
        text: string,
        signal: AbortSignal,
        onEvent: (event: GenerateEvent) => void,
        onProgress?: (progress: Progress) => void,
    ): Promise<void> {
        this.turns.push({ role: 'user', content: contentOf(text, this.attached) } as Message);
        this.attached.length = 0;
        await this.answer(signal, onEvent, onProgress);
    }

    /** Forgets the last answer; false when there is no question to answer again. */
    takeBack(): boolean {
        while (this.turns.length > 0 && this.turns.at(-1)?.role !== 'user') this.turns.pop();
        return this.turns.length > 0;
    }

    async answer(
        signal: AbortSignal,
        onEvent: (event: GenerateEvent) => void,
        onProgress?: (progress: Progress) => void,
    ): Promise<void> {
        let content = '';
        try {
            const messages = (await this.options.place?.(this.messages, signal)) ?? this.messages;
            const result = await this.session.generate(
                {
                    messages,
                    thinking: this.thinking,
                    max_tokens: this.options.maxTokens,
                    sampling: this.options.sampling,
                    stop: this.options.stop,
                    ...(this.options.drafts ? { drafts: true } : {}),
                    ...(this.options.diffusion ? { diffusion: this.options.diffusion } : {}),
                    ...(this.options.adapters ? { adapters: this.options.adapters } : {}),
                },
                {
                    signal,
                    ...(onProgress ? { onProgress } : {}),
                    onEvent: (event) => {
                        if (event.type === 'content') content += event.text;
                        onEvent(event);
                    },
                },
            );
            this.lastResult = result;
            this.turns.push(result.message ?? { role: 'assistant', content: result.text });
        } catch (error) {
            const stopped = error instanceof LapidaryError && error.code === 'cancelled';
            // An answer that was stopped half-way was still read: the model should know what it said. A question
            // that got no answer at all is forgotten, or the next one would be the second in a row.
            if (stopped && content !== '') this.turns.push({ role: 'assistant', content });
            else if (this.turns.at(-1)?.role === 'user') this.turns.pop();
            throw error;
        }
    }
}

function toldContent(content: JsonValue): JsonValue {
    if (!Array.isArray(content)) return content;
    return content.map((part) => {
        if (!isObject(part) || part['type'] === 'text') return part;
        return { type: String(part['type']), name: typeof part['name'] === 'string' ? part['name'] : null };
    });
}
