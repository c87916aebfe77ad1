// The whole of an answer, where it may be had at once; no more of it than was thought of.
import { LapidaryError } from '../error.js';
import { Gathered } from './gathered.js';

export async function bodyOf(response: Response, what: string, mostBytes: number): Promise<Blob> {
    const refuse = () => {
        void response.body?.cancel().catch(() => undefined);
        return new LapidaryError('limit', `${what} has more than ${mostBytes} bytes, which cannot be right`);
    };
    if (Number(response.headers.get('content-length') ?? 0) > mostBytes) throw refuse();
    const reader = response.body?.getReader();
    const gathered = new Gathered();
    while (reader) {
        const { done, value } = await reader.read();
        if (done) break;
        gathered.add(value);
        if (gathered.size <= mostBytes) continue;
        await reader.cancel().catch(() => undefined);
        throw refuse();
    }
    return gathered.blob();
}
