import assert from 'node:assert/strict';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { test } from 'node:test';
import { LapidaryError } from '../error.js';
import type { Progress } from '../work.js';
import { HttpSource, Passing, openHttp, type HttpOptions } from './http.js';

const file = Uint8Array.from({ length: 5000 }, (_, i) => (i * 31) % 251);
// The timeout is long, for a busy machine; tests about silence choose their own.
const quick: HttpOptions = { timeoutMs: 20_000, retries: 2, retryDelayMs: 1 };

type Handler = (request: IncomingMessage, response: ServerResponse, count: number) => void;

/** Runs `work` against a server of its own. */
async function serving(handler: Handler, work: (url: string, requests: string[]) => Promise<void>): Promise<void> {
    const requests: string[] = [];
    const server = createServer((request, response) => {
        requests.push(request.headers.range ?? '');
        handler(request, response, requests.length);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    try {
        await work(`http://127.0.0.1:${port}/models/tiny.gguf`, requests);
    } finally {
        server.closeAllConnections();
        await new Promise((resolve) => server.close(resolve));
    }
}

function rangeOf(request: IncomingMessage): [number, number] {
    const [, first, last] = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? '') ?? [];
    return [Number(first), Number(last)];
}

/** What a good server does. */
function serveRange(request: IncomingMessage, response: ServerResponse, bytes = file, headers = {}): void {
    const [first, last] = rangeOf(request);
    const body = bytes.subarray(first, last + 1);
    response.writeHead(206, {
        'content-range': `bytes ${first}-${first + body.length - 1}/${bytes.length}`,
        'content-length': body.length,
        ...headers,
    });
    response.end(body);
}

/** A good first answer, so that opening works; then something else. */
const afterOpening =
    (then: Handler): Handler =>
    (request, response, count) =>
        request.headers.range === 'bytes=0-1' ? serveRange(request, response) : then(request, response, count);

function rejectsWith(promise: Promise<unknown>, message: RegExp, code = 'io'): Promise<void> {
    return assert.rejects(promise, (error: unknown) => {
        assert.ok(error instanceof LapidaryError, String(error));
        assert.match(error.message, message);
        assert.equal(error.code, code);
        return true;
    });
}

test('reads exactly the range that was asked for', async () => {
    await serving(
        (request, response) => serveRange(request, response),
        async (url, requests) => {
            const source = await HttpSource.open(`${url}?token=secret`, quick);
            assert.equal(source.size, 5000);
            assert.equal(source.name, 'tiny.gguf');
            assert.deepEqual(await source.read(100, 50), file.slice(100, 150));
            assert.deepEqual(await source.read(4999, 1), file.slice(4999));
            assert.equal((await source.read(5000, 0)).length, 0);
            await rejectsWith(source.read(4999, 2), /ends at byte 5000/, 'truncated');
            assert.deepEqual(requests, ['bytes=0-1', 'bytes=100-149', 'bytes=4999-4999']);
        },
    );
});

test('an empty file is empty, not an error', async () => {
    await serving(
        (_, response) => response.writeHead(416, { 'content-range': 'bytes */0' }).end(),
        async (url) => assert.equal((await HttpSource.open(url, quick)).size, 0),
    );
});

const refusals: [status: number, message: RegExp, code: string, attempts: number][] = [
    [404, /no file at http:.*tiny\.gguf \(HTTP 404\)$/, 'not_found', 1],
    [401, /without permission \(HTTP 401\)/, 'io', 1],
    [403, /without permission \(HTTP 403\)/, 'io', 1],
    [418, /answers HTTP 418/, 'io', 1],
    [503, /answers HTTP 503 \(tried 3 times\)/, 'io', 3],
];
for (const [status, message, code, attempts] of refusals) {
    test(`an answer with status ${status} becomes a sentence`, async () => {
        await serving(
            (_, response) => response.writeHead(status).end('x'.repeat(100)),
            async (url, requests) => {
                await rejectsWith(HttpSource.open(`${url}?token=secret`, quick), message, code);
                assert.equal(requests.length, attempts);
            },
        );
    });
}

test('signatures in a query do not appear in messages', async () => {
    await serving(
        (_, response) => response.writeHead(404).end(),
        async (url) => {
            await assert.rejects(HttpSource.open(`${url}?token=secret`, quick), (error: Error) => {
                assert.doesNotMatch(error.message, /secret/);
                return true;
            });
        },
    );
});

test('a passing server error is retried', async () => {
    await serving(
        (request, response, count) => (count <= 2 ? response.writeHead(503).end() : serveRange(request, response)),
        async (url) => assert.equal((await HttpSource.open(url, quick)).size, 5000),
    );
});

test('a connection that is cut in the middle is taken up where it broke', async () => {
    await serving(
        afterOpening((request, response, count) => {
            if (count > 2) return serveRange(request, response);
            response.writeHead(206, { 'content-range': 'bytes 0-999/5000', 'content-length': 1000 });
            response.write(file.subarray(0, 400), () => setTimeout(() => response.destroy(), 20));
        }),
        async (url, requests) => {
            const source = await HttpSource.open(url, quick);
            assert.deepEqual(await source.read(0, 1000), file.slice(0, 1000));
            assert.equal(requests[2], 'bytes=400-999');
        },
    );
});

test('a connection that is cut every time ends in a sentence', async () => {
    await serving(
        afterOpening((_, response) => response.destroy()),
        async (url, requests) => {
            const source = await HttpSource.open(url, quick);
            await rejectsWith(source.read(0, 1000), /tiny\.gguf could not be read: .*\(tried 3 times\)/);
            assert.equal(requests.length, 4);
        },
    );
});

test('a body shorter than announced is completed, or refused when it stays short', async () => {
    const short: Handler = (request, response) => {
        const [first] = rangeOf(request);
        response.writeHead(206, { 'content-range': `bytes ${first}-999/5000` });
        response.end(file.subarray(first, Math.min(first + 300, 1000)));
    };
    await serving(afterOpening(short), async (url) => {
        const source = await HttpSource.open(url, { ...quick, retries: 3 });
        assert.deepEqual(await source.read(0, 1000), file.slice(0, 1000));
    });
    await serving(afterOpening(short), async (url) => {
        const source = await HttpSource.open(url, quick);
        await rejectsWith(source.read(0, 1000), /ended before everything had arrived \(tried 3 times\)/);
    });
});

test('a server that may send less at a time is asked again', async () => {
    await serving(
        (request, response) => {
            const [first, last] = rangeOf(request);
            const end = Math.min(last, first + 599);
            response.writeHead(206, { 'content-range': `bytes ${first}-${end}/5000` });
            response.end(file.subarray(first, end + 1));
        },
        async (url) => {
            const source = await HttpSource.open(url, quick);
            assert.deepEqual(await source.read(10, 1000), file.slice(10, 1010));
            await rejectsWith(source.read(0, 5000), /too little at a time/);
        },
    );
});

test('a server that falls silent does not keep us waiting', async () => {
    let reads = 0;
    await serving(
        afterOpening((_, response) => {
            if (++reads === 1) return; // not even headers
            response.writeHead(206, { 'content-range': 'bytes 0-999/5000', 'content-length': 1000 });
            response.write(file.subarray(0, 10));
        }),
        async (url) => {
            const source = await HttpSource.open(url, { timeoutMs: 500, retries: 1, retryDelayMs: 1 });
            await rejectsWith(source.read(0, 1000), /nothing arrived for 0\.5 s \(tried 2 times\)/);
        },
    );
});

test('a slow server that keeps sending is waited for', async () => {
    await serving(
        afterOpening((_, response) => {
            response.writeHead(206, { 'content-range': 'bytes 0-9/5000', 'content-length': 10 });
            let sent = 0;
            const timer = setInterval(() => {
                response.write(file.subarray(sent, sent + 1));
                if (++sent === 10) response.end(clearInterval(timer));
            }, 350);
        }),
        async (url) => {
            const source = await HttpSource.open(url, { timeoutMs: 3000, retries: 0 });
            assert.deepEqual(await source.read(0, 10), file.slice(0, 10));
        },
    );
});

const lies: [what: string, contentRange: string | undefined, message: RegExp][] = [
    ['another place', 'bytes 50-1049/5000', /asked for bytes 0-999 and sent bytes 50-1049\/5000/],
    ['another size', 'bytes 0-999/6000', /changed from 5000 to 6000 bytes on the server/],
    ['an unknown size', 'bytes 0-999/*', /does not say/],
    ['nonsense', 'bytes 9-1/5000', /does not say/],
    ['nothing at all', undefined, /does not say/],
];
for (const [what, contentRange, message] of lies) {
    test(`a Content-Range that says ${what} is refused`, async () => {
        await serving(
            afterOpening((_, response) => {
                response.writeHead(206, contentRange === undefined ? {} : { 'content-range': contentRange });
                response.end(file.subarray(0, 1000));
            }),
            async (url) => rejectsWith((await HttpSource.open(url, quick)).read(0, 1000), message),
        );
    });
}

test('a body longer than announced is refused', async () => {
    await serving(
        afterOpening((_, response) => {
            response.writeHead(206, { 'content-range': 'bytes 0-999/5000' });
            response.end(file.subarray(0, 2000));
        }),
        async (url) => rejectsWith((await HttpSource.open(url, quick)).read(0, 1000), /more bytes than it announced/),
    );
});

test('parts that are sent compressed are refused', async () => {
    await serving(
        afterOpening((request, response) => serveRange(request, response, file, { 'content-encoding': 'x-secret' })),
        async (url) => rejectsWith((await HttpSource.open(url, quick)).read(0, 10), /compressed, so that its ranges/),
    );
});

// As sirv does, and so Vite: the 0 of `0-0` counts as no end at all.
const likeVite: Handler = (request, response) => {
    const [first, last] = rangeOf(request);
    const end = Math.min(last || file.length - 1, file.length - 1);
    response.writeHead(206, { 'content-range': `bytes ${first}-${end}/5000`, 'content-length': end - first + 1 });
    response.end(file.subarray(first, end + 1));
};
test('a server that sends more of a part than was asked for is read all the same', async () => {
    await serving(likeVite, async (url) => {
        const source = await HttpSource.open(url, quick);
        assert.equal(source.note, undefined);
        assert.deepEqual(await source.read(0, 1), file.slice(0, 1));
        assert.deepEqual(await source.read(7, 100), file.slice(7, 107));
    });
});

const whole = (headers: Record<string, string | number>, body: Uint8Array = file): Handler => {
    return (_, response) => response.writeHead(200, headers).end(body);
};
const servers: [what: string, handler: Handler, note: RegExp, requests: number][] = [
    ['that knows no parts', whole({ 'content-length': 5000 }), /does not send parts of a file, so all/, 2],
    ['that knows no parts and tells no size', whole({}), /does not send parts of a file, so all/, 2],
    ['that compresses what it sends', whole({ 'content-encoding': 'gzip' }, gzipSync(file)), /is sent compressed/, 2],
    [
        'that sends everything as if it had been asked for',
        (request, response) =>
            request.headers.range
                ? response.writeHead(206, { 'content-range': 'bytes 0-4999/5000', 'content-length': 5000 }).end(file)
                : response.writeHead(200).end(file),
        /sends the whole file whatever part is asked for/,
        2,
    ],
    [
        'whose Content-Range cannot be read',
        (request, response) =>
            request.headers.range
                ? response.writeHead(206).end(file.subarray(0, 2))
                : response.writeHead(200, { 'content-length': 5000 }).end(file),
        /does not let its Content-Range be read/,
        3,
    ],
];
for (const [what, handler, note, expected] of servers) {
    test(`a file of a server ${what} is downloaded once and read from there`, async () => {
        await serving(handler, async (url, requests) => {
            const told: Progress[] = [];
            const source = await HttpSource.open(url, { ...quick, onDownload: (progress) => told.push(progress) });
            assert.match(source.note ?? '', note);
            assert.equal(source.size, 5000);
            const both = await Promise.all([source.read(10, 20), source.read(4000, 1000)]);
            assert.deepEqual(both, [file.slice(10, 30), file.slice(4000)]);
            assert.equal(requests.length, expected);
            assert.equal(told.at(-1)?.done, 5000);
            assert.match(told[0]?.note ?? '', note);
            const streamed: number[] = [];
            for await (const piece of source.stream(1000, 3000)) streamed.push(...piece);
            assert.deepEqual(Uint8Array.from(streamed), file.slice(1000, 4000));
        });
    });
}

test('a stream from a server that knows no parts goes past what is not wanted, and holds nothing', async () => {
    await serving(whole({ 'content-length': 5000, etag: '"a"' }), async (url, requests) => {
        const source = await HttpSource.open(url, quick);
        const streamed: number[] = [];
        for await (const piece of source.stream(3000, 1000)) streamed.push(...piece);
        assert.deepEqual(Uint8Array.from(streamed), file.slice(3000, 4000));
        assert.deepEqual(requests, ['bytes=0-1', '']);
    });
});

test('a download as a whole goes on where it broke, and notices another version', async () => {
    for (const [tag, works] of [['"a"', true], ['"b"', false]] as const) {
        await serving(
            (_, response, count) => {
                response.writeHead(200, { 'content-length': 5000, etag: count === 3 ? tag : '"a"' });
                if (count === 2) response.write(file.subarray(0, 3000), () => setTimeout(() => response.destroy(), 20));
                else response.end(file);
            },
            async (url) => {
                const source = await HttpSource.open(url, quick);
                if (works) assert.deepEqual(await source.read(0, 5000), file);
                else await rejectsWith(source.read(0, 5000), /changed on the server/);
            },
        );
    }
});

test('a whole file that is too large to be held is refused before it is fetched', async () => {
    await serving(whole({ 'content-length': 5 * 1024 ** 3 }, new Uint8Array(2)), async (url, requests) => {
        const source = await HttpSource.open(url, quick);
        await rejectsWith(source.read(0, 4), /larger than the 4 GiB that are held in memory; download it/, 'out_of_memory');
        assert.equal(requests.length, 1);
    });
});

test('a whole file whose server does not tell versions apart begins again when the connection breaks', async () => {
    const newer = file.map((byte) => byte ^ 1);
    await serving(
        (_, response, count) => {
            response.writeHead(200, { 'content-length': 5000 });
            if (count === 2) response.write(file.subarray(0, 3000), () => setTimeout(() => response.destroy(), 20));
            else response.end(count === 1 ? file : newer);
        },
        async (url) => assert.deepEqual(await (await HttpSource.open(url, quick)).read(0, 5000), newer),
    );
});

for (const total of [2 ** 41, Number.MAX_SAFE_INTEGER]) {
    test(`a size of ${total} bytes is not believed`, async () => {
        const handlers: Handler[] = [
            (_, response) => response.writeHead(206, { 'content-range': `bytes 0-1/${total}` }).end('GG'),
            (_, response) => response.writeHead(200, { 'content-length': total }).write('GG'),
        ];
        for (const handler of handlers) {
            await serving(handler, async (url) => rejectsWith(HttpSource.open(url, quick), /cannot be right/, 'limit'));
        }
    });
}

for (const [header, value] of [['etag', '"a"'], ['last-modified', 'Wed, 21 Oct 2015 07:28:00 GMT']] as const) {
    test(`parts are asked for on condition that the ${header} is still the same`, async () => {
        const conditions: (string | undefined)[] = [];
        await serving(
            (request, response, count) => {
                const condition = request.headers['if-range'] as string | undefined;
                conditions.push(condition);
                if (count === 3) response.writeHead(200, { [header]: 'other' }).end(file.map((byte) => byte ^ 1));
                else serveRange(request, response, file, condition === undefined ? { [header]: value } : {});
            },
            async (url) => {
                const source = await HttpSource.open(url, quick);
                assert.deepEqual(await source.read(10, 20), file.slice(10, 30));
                await rejectsWith(source.read(10, 20), /changed on the server while it was read/);
                assert.deepEqual(conditions, [undefined, value, value]);
            },
        );
    });
}

test('a web page is not taken for a model, whatever its status', async () => {
    for (const status of [200, 206]) {
        const headers = { 'content-type': 'text/html; charset=utf-8', 'content-range': 'bytes 0-1/90' };
        await serving(
            (_, response) => response.writeHead(status, headers).end(status === 206 ? '<!' : '<!doctype html>'),
            async (url) => rejectsWith(HttpSource.open(url, quick), /answers with a web page/, 'not_found'),
        );
    }
    const html = { 'content-type': 'text/html' };
    await serving(
        (request, response) => serveRange(request, response, file, html),
        async (url) => assert.equal((await HttpSource.open(url, quick)).size, 5000, 'only its name says so'),
    );
});

for (const header of ['etag', 'last-modified']) {
    test(`a file that changes between two reads is noticed by its ${header}`, async () => {
        await serving(
            (request, response, count) => serveRange(request, response, file, { [header]: count < 3 ? '"a"' : '"b"' }),
            async (url) => {
                const source = await HttpSource.open(url, quick);
                await source.read(0, 10);
                await rejectsWith(source.read(0, 10), /changed on the server while it was read/);
            },
        );
    });
}

test('weak tags, which differ between mirrors, are not compared', async () => {
    await serving(
        (request, response, count) => serveRange(request, response, file, { etag: `W/"${count}"` }),
        async (url) => {
            const source = await HttpSource.open(url, quick);
            assert.equal((await source.read(0, 10)).length, 10);
        },
    );
});

test('a file that became shorter is noticed', async () => {
    await serving(
        afterOpening((_, response) => response.writeHead(416, { 'content-range': 'bytes */10' }).end()),
        async (url) => rejectsWith((await HttpSource.open(url, quick)).read(4000, 10), /became shorter/),
    );
});

test('a read can be stopped, by its signal or by closing the source', async () => {
    for (const how of ['signal', 'close']) {
        await serving(
            afterOpening(() => undefined),
            async (url) => {
                const source = await HttpSource.open(url, { retries: 5, timeoutMs: 60_000 });
                const controller = new AbortController();
                const reading = source.read(0, 10, controller.signal);
                setTimeout(() => (how === 'signal' ? controller.abort() : void source.close()), 20);
                await rejectsWith(reading, /stopped/, 'cancelled');
            },
        );
    }
});

test('a stream is one connection: its bytes as they come, and a failure that may pass told as such', async () => {
    await serving(
        afterOpening((request, response, count) => {
            if (count === 2) return serveRange(request, response, file, { etag: '"a"' });
            response.writeHead(206, { 'content-range': 'bytes 100-1099/5000', 'content-length': 1000 });
            response.write(file.subarray(100, 600), () => response.destroy());
        }),
        async (url, requests) => {
            const source = await HttpSource.open(url, quick);
            const collect = async (bytes: number[], signal?: AbortSignal) => {
                for await (const piece of source.stream(100, 1000, signal)) bytes.push(...piece);
            };
            const whole: number[] = [];
            const half: number[] = [];
            await collect(whole);
            assert.deepEqual(Uint8Array.from(whole), file.slice(100, 1100));
            await assert.rejects(collect(half), Passing);
            assert.deepEqual(Uint8Array.from(half), file.slice(100, 600));
            assert.equal(requests.length, 3, 'nothing is tried again');
            await rejectsWith(collect([], AbortSignal.abort()), /stopped/, 'cancelled');
            await rejectsWith(source.stream(4999, 2).next(), /ends at byte 5000/, 'truncated');
        },
    );
});

test('only http and https addresses are read', async () => {
    for (const address of ['file:///etc/passwd', 'ftp://example.org/x', 'data:,x', 'javascript:1']) {
        await rejectsWith(HttpSource.open(address), /only http: and https:/, 'invalid_argument');
    }
    await rejectsWith(HttpSource.open('tiny.gguf'), /not a URL/, 'invalid_argument');
    await rejectsWith(HttpSource.open('http://me:pw@127.0.0.1/'), /password/, 'invalid_argument');
});

test('a server that is not there is told so', async () => {
    let address = '';
    await serving(
        () => undefined,
        async (url) => void (address = url),
    );
    await rejectsWith(HttpSource.open(address, quick), /refuses the connection \(tried 3 times\)/);
});

test('a split model is opened piece by piece', async () => {
    const paths: string[] = [];
    await serving(
        (request, response) => {
            paths.push(request.url ?? '');
            serveRange(request, response);
        },
        async (url) => {
            const sources = await openHttp(url.replace('tiny.gguf', 'big-00001-of-00002.gguf?download=true'), quick);
            assert.deepEqual(
                sources.map((source) => source.name),
                ['big-00001-of-00002.gguf', 'big-00002-of-00002.gguf'],
            );
            assert.ok(paths.every((path) => path.endsWith('?download=true')));
        },
    );
});
