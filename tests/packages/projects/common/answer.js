// What every page of these tests does with the library, as a page of anybody's would.
import { Lapidary } from 'lapidary';

export async function answer(source, options = {}) {
    const notes = new Set();
    const said = [];
    const engine = await Lapidary.load(source, {
        contextLength: 256,
        onProgress: ({ note }) => note && notes.add(note),
        log: (level, text) => void said.push(`${level}: ${text}`),
        ...options,
    });
    const { choices } = await engine.chat.completions.create({
        messages: [{ role: 'user', content: 'Hello!' }],
        max_tokens: 8,
        temperature: 0,
    });
    const { worker, backend, why } = engine.info;
    await engine.dispose();
    return { text: choices[0].message.content, worker, backend, why, notes: [...notes], said };
}
