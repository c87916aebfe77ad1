// `lapidary/node`: what needs a disk. Kept apart so that a browser's bundle never sees node:fs.
export { contentSecurityPolicy, contentSecurityPolicyHeader } from './content-security-policy.js';
export { loadInThread, type Patience } from './engine/in-thread.js';
export { engineFile, loadEngine } from './engine-file.js';
export { diskTuningCache } from './gpu/tuning-cache-file.js';
export { chooseBackend, type Chosen } from './core/backend.js';
export { nodeGpu, whyNoNodeGpu } from './gpu/node.js';
export { Media } from './core/media.js';
export { DiskFs } from './cache/disk.js';
export { keptModelsHere, keptPath, modelsFolder } from './hub/kept-node.js';
export { builtinFile, openDownloaded, openLocalModel, openOllamaModel, projectorBeside } from './local-model.js';
export type { LocalModel } from './local-model.js';
export { decodePicture, type PixelLayout, type Pixels } from './media/picture.js';
export { decodeSound, type Sound } from './media/sound.js';
export { NodeDirectory, findStores, storeCandidates, thisComputer } from './ollama/node.js';
export type { Surroundings } from './ollama/node.js';
export { FileSink, FileSource, fileError, openFile, systemCode } from './sources/file.js';
