// One way from a request to its answer, for the dialects that word the engine's own events.
import type { GenerateRequest } from 'lapidary';
import type { AnswerEvent, Ended } from 'lapidary/dialects';
import type { CatalogueEntry } from './catalogue.js';
import type { Context } from './http.js';
import type { KeepAlive, Ready } from './loaded.js';
import { withDefaults } from './model-defaults.js';
import type { Service } from './service.js';
import { streamed, type OnReading, type StreamShape } from './streams.js';

/** What has to be known of a request before its turn. */
export interface Wanted {
    entry: CatalogueEntry;
    stream: boolean;
    /** Asked for when the answer begins. */
    headers?: () => Record<string, string>;
    keepAlive?: KeepAlive;
    /** Stops the answer besides the client's leaving. */
    stop?: AbortSignal;
}

/** A request whose turn has come. */
export interface Turn {
    request: GenerateRequest;
    /** The text of what an event becomes in a stream. */
    pieces(event: AnswerEvent): string;
    whole(answer: Ended): object;
}

/** `open` reads the request again: until its turn only its bytes are kept. */
export async function respond(c: Context, service: Service, wanted: Wanted, shape: StreamShape, open: (ready: Ready) => Turn): Promise<Response> {
    const { entry, stream, headers = () => ({}), keepAlive, stop } = wanted;
    const run = async (tell?: (text: string) => void, onReading?: OnReading) =>
        await service.run(c, entry, keepAlive, async (ready, gone) => {
            const { request, pieces, whole } = open(ready);
            const unread = new AbortController();
            const signal = AbortSignal.any([gone, unread.signal, ...(stop ? [stop] : [])]);
            let failure: { error: unknown } | undefined;
            const onEvent = (event: AnswerEvent) => {
                if (event.type === 'reading') onReading?.(event);
                try {
                    const text = pieces(event);
                    if (text !== '') tell?.(text);
                } catch (error) {
                    failure ??= { error };
                    unread.abort();
                }
            };
            try {
                return whole(await ready.engine.generate(withDefaults(request, ready), tell ? { signal, onEvent } : { signal }));
            } catch (error) {
                throw failure ? failure.error : error;
            }
        });
    if (!stream) {
        const whole = await run();
        return Response.json(whole, { headers: headers() });
    }
    return await streamed(c, shape, async (send, onReading) => void (await run(send, onReading)), headers);
}
