// The engine's thread in Node: `new Worker(new URL('./thread.js', import.meta.url))` of node:worker_threads.
import { parentPort } from 'node:worker_threads';
import { threadPort } from '../rpc/port.js';
import { serveEngine } from './service.js';

// Closed, nothing keeps the thread: it ends by itself, with nothing of a GPU left in it.
if (parentPort) serveEngine(threadPort(parentPort), () => parentPort?.close());
