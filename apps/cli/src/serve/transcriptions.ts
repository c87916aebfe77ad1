// OpenAI's /v1/audio/transcriptions and /translations, on a model that hears: the sound and a request to write down what is said.
import type { Bodies } from './body.js';
import { badRequest } from './errors.js';
import type { Context, Routes } from './http.js';
import type { Service } from './service.js';

const formats = ['json', 'text', 'verbose_json', 'srt', 'vtt'];

export function addTranscriptionRoute(app: Routes, service: Service, bodies: Bodies): void {
    app.post('/v1/audio/transcriptions', async (c) => await transcribe(c, service, await bodies.bytes(c), false));
    app.post('/v1/audio/translations', async (c) => await transcribe(c, service, await bodies.bytes(c), true));
}

async function transcribe(c: Context, service: Service, body: Buffer, translate: boolean): Promise<Response> {
    const form = await formOf(c.req.header('content-type'), body);
    const file = form.get('file');
    if (!(file instanceof Blob)) throw badRequest("'file' must be a sound", 'file');
    const format = textOf(form, 'response_format') ?? 'json';
    if (!formats.includes(format)) throw badRequest(`'response_format' must be one of ${formats.join(', ')}`, 'response_format');
    if (format === 'srt' || format === 'vtt') throw badRequest(`'response_format' is '${format}', but this model tells no times: ask for json or text`, 'response_format');
    if (textOf(form, 'stream') === 'true') throw badRequest("'stream' is not known for transcriptions here", 'stream');
    const temperature = Number(textOf(form, 'temperature') ?? 0);
    if (!(temperature >= 0 && temperature <= 2)) throw badRequest("'temperature' must be a number from 0 to 2", 'temperature');
    const entry = await service.find(textOf(form, 'model') ?? undefined);
    const audio = new Uint8Array(await file.arrayBuffer());
    const name = file instanceof File ? file.name.slice(0, 100) : 'the file';
    const answer = await service.run(c, entry, undefined, async ({ engine }, signal) => {
        const text = wish(translate, textOf(form, 'language'), textOf(form, 'prompt'));
        const messages = [{ role: 'user' as const, content: [{ type: 'audio' as const, audio, name }, { type: 'text' as const, text }] }];
        return await engine.chat.completions.create({ messages, temperature, thinking: false, stream: false }, { signal });
    });
    const said = answer.choices[0]?.message.content?.trim() ?? '';
    if (format === 'text') return c.text(`${said}\n`);
    if (format === 'json') return c.json({ text: said, usage: { type: 'tokens', input_tokens: answer.usage.prompt_tokens, output_tokens: answer.usage.completion_tokens, total_tokens: answer.usage.total_tokens } });
    return c.json({ task: translate ? 'translate' : 'transcribe', language: textOf(form, 'language') ?? 'unknown', text: said, segments: [] });
}

/** As the model's makers ask for it. */
function wish(translate: boolean, language: string | undefined, hint: string | undefined): string {
    const from = language === undefined ? 'its original language' : (languageName(language) ?? language);
    const task = translate
        ? `Transcribe the following speech segment in ${from}, then translate it into English. Answer with the translation alone.`
        : `Transcribe the following speech segment in ${from}. Answer with the transcription alone, without line breaks.`;
    return hint === undefined ? task : `${task}\nIt may contain these words: ${hint}`;
}

function languageName(code: string): string | undefined {
    try {
        return new Intl.DisplayNames('en', { type: 'language' }).of(code.slice(0, 20));
    } catch {
        return undefined;
    }
}

function textOf(form: FormData, name: string): string | undefined {
    const value = form.get(name);
    return typeof value === 'string' && value !== '' ? value.slice(0, 10_000) : undefined;
}

async function formOf(type: string | undefined, body: Buffer): Promise<FormData> {
    try {
        return await new Response(new Uint8Array(body), { headers: { 'content-type': type ?? '' } }).formData();
    } catch {
        throw badRequest("the body must be a form (multipart/form-data) with a 'file'");
    }
}
