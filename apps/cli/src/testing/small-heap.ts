// A server in a worker whose heap the test has limited. Its model loads when as many requests wait as it was told to expect.
import { parentPort, workerData } from 'node:worker_threads';
import { EchoEngine, testServer } from './server.js';

const { requests } = workerData as { requests: number };
const engine = new EchoEngine('echo', 0);
const server = await testServer(
    { after: () => undefined }, // the test ends the worker
    {
        loadModel: async (source, options) => {
            // One of them is whom the model is loaded for.
            while (server.service.queue.waiting < requests - 1) await new Promise((resolve) => setTimeout(resolve, 10));
            return await engine.load(source, options);
        },
    },
);
parentPort?.postMessage(server.url);
