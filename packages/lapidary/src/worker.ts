// The worker's beginning: `new Worker(new URL('./worker.js', import.meta.url), { type: 'module' })`.
import type { Port } from './core/peer.js';
import { serveCore } from './core/serve.js';

const port = globalThis as unknown as Port; // in a worker the global scope is the port to whoever made it
serveCore(port);
port.postMessage({ kind: 'hello' }, []); // whoever made it waits to see that the script could be loaded
