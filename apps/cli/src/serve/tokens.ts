// Texts as tokens and back, in the words of llama.cpp (`content`) and of vLLM (`prompt`), and how many a chat would be.
import { isObject, type JsonObject } from 'lapidary';
import { openAiChat } from 'lapidary/dialects';
import type { Bodies } from './body.js';
import { badRequest } from './errors.js';
import type { Context, Routes } from './http.js';
import type { Ready } from './loaded.js';
import { readChat } from './openai-request.js';
import type { Service } from './service.js';

export function addTokenRoutes(app: Routes, service: Service, bodies: Bodies): void {
    /** `check` before the turn, `work` when it has come: until then only the bytes are kept. */
    const route = <Read>(path: string, read: (body: JsonObject) => Read, work: (wanted: Read, ready: Ready) => Promise<object>) => {
        app.post(path, async (c: Context) => {
            const body = await bodies.read(c);
            read(body.object());
            const entry = await service.find(body.object()['model']);
            return Response.json(await service.run(c, entry, undefined, async (ready) => await work(read(body.object()), ready)));
        });
    };
    route('/v1/tokenize', readTokenize, async ({ text, addBos, parseSpecial, pieces, isVllm }, { engine }) => {
        const tokens = [...(await engine.tokenize(text, { addBos, parseSpecial }))];
        const texts: string[] = [];
        if (pieces) for (const token of tokens) texts.push(await engine.detokenize([token], { special: true }));
        if (!isVllm) return { tokens: pieces ? tokens.map((id, i) => ({ id, piece: texts[i] ?? '' })) : tokens };
        const { contextLength: max_model_len } = engine.info;
        return { count: tokens.length, max_model_len, tokens, token_strs: pieces ? texts : null };
    });
    route('/v1/detokenize', readTokens, async (tokens, { engine }) => {
        const text = await engine.detokenize(tokens, { special: true });
        return { content: text, prompt: text };
    });
    const readMessages = (body: JsonObject) => openAiChat.read(readChat(body).params).request;
    route('/v1/chat/completions/input_tokens', readMessages, async (request, { engine }) => ({
        object: 'response.input_tokens',
        input_tokens: await engine.countTokens(request),
    }));
}

function readTokenize(body: JsonObject) {
    const { content, prompt } = body;
    const isVllm = content === undefined && prompt !== undefined;
    const text = content ?? prompt;
    if (isObject(text) || typeof text !== 'string') throw badRequest("'content' (or 'prompt') must be a text", 'content');
    return {
        text,
        isVllm,
        addBos: isVllm ? body['add_special_tokens'] !== false : body['add_special'] === true,
        parseSpecial: body['parse_special'] !== false,
        pieces: body[isVllm ? 'return_token_strs' : 'with_pieces'] === true,
    };
}

const mostTokens = 1_000_000;

function readTokens({ tokens }: JsonObject): number[] {
    const whole = Array.isArray(tokens) && tokens.every((one) => typeof one === 'number' && Number.isInteger(one) && one >= 0);
    if (!whole || tokens.length > mostTokens) throw badRequest("'tokens' must be a list of tokens", 'tokens');
    return tokens as number[];
}
