// The runtime of Node, Deno and Bun. Loaded by name only there (surroundings.ts).
import os from 'node:os';
import { fileURLToPath } from 'node:url';
import { openNodeKernels } from './cpu/node.js';
import { loadEngine } from './engine-file.js';
import { LapidaryError } from './error.js';
import { diskTuningCache } from './gpu/tuning-cache-file.js';
import { nodeGpu, whyNoNodeGpu } from './gpu/node.js';
import { openKeptModel, openLocalModel } from './local-model.js';
import type { Runtime } from './runtime.js';
import { FileSource } from './sources/file.js';
import { keptPrefix } from './sources/open.js';

export const nodeRuntime: Runtime = {
    makeEngine: loadEngine,
    openCpu: openNodeKernels,
    findGpu: nodeGpu,
    whyNoGpu: whyNoNodeGpu,
    tuningCache: diskTuningCache(),
    totalMemory: () => os.totalmem(),
    openFile: async (path) => await FileSource.open(path),
    openLocal: async (name) => {
        if (name.startsWith(keptPrefix)) return await openKeptModel(name.slice(keptPrefix.length));
        if (!name.startsWith('file:')) return await openLocalModel(name);
        try {
            return await openLocalModel(fileURLToPath(name));
        } catch (cause) {
            if (cause instanceof LapidaryError) throw cause;
            throw new LapidaryError('invalid_argument', `'${name}' is not the address of a file`, { cause });
        }
    },
};
