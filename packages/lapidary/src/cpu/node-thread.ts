// The beginning of a helping thread in Node.
import { parentPort, workerData } from 'node:worker_threads';
import type { ThreadStart } from './kernels.js';
import { becomeThread } from './thread.js';

await becomeThread(workerData as ThreadStart, () => parentPort?.postMessage('ready'));
