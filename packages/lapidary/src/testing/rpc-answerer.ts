// The other side for the tests of rpc.ts: in a thread, in a process, or as a module.
import { isMainThread, parentPort } from 'node:worker_threads';
import { LapidaryError, cancelledError } from '../error.js';
import type { Handlers } from '../rpc/contract.js';
import { processPort, threadPort } from '../rpc/port.js';
import { Rpc } from '../rpc/rpc.js';

export interface TestCalls {
    count: { args: number; event: number; result: number };
    refuse: { args: string; event: never; result: void };
    wait: { args: undefined; event: never; result: void };
    bytes: { args: number; event: never; result: Uint8Array };
}

export const handlers: Handlers<TestCalls> = {
    count: async (count, { emit }) => {
        for (let i = 0; i < count; i++) emit(i);
        return count;
    },
    refuse: async (param) => {
        throw new LapidaryError('limit', 'no', { details: { param } });
    },
    wait: async (_, { signal }) =>
        await new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(cancelledError()))),
    bytes: async (length) => new Uint8Array(length).fill(7),
};

if (parentPort && !isMainThread) new Rpc<Record<never, never>, TestCalls>(threadPort(parentPort), handlers);
else if (process.send) new Rpc<Record<never, never>, TestCalls>(processPort(process), handlers);
