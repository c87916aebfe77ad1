// The worker's beginning: `new Worker(new URL('./worker.js', import.meta.url), { type: 'module' })`.
import { serveEngine } from './engine/service.js';
import { workerPort, type MessageEnd } from './rpc/port.js';

const end = globalThis as unknown as MessageEnd; // in a worker the global scope is the port to whoever made it
serveEngine(workerPort(end));
end.postMessage({ hello: true }, []); // whoever made it waits to see that the script could be loaded
