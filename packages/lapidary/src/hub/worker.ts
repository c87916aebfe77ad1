// Downloads in a worker of their own: files are written in place there, and a page that answers has other things to do.
import type { Port } from '../core/peer.js';
import { serveDownloads } from './downloader.js';

const port = globalThis as unknown as Port; // in a worker the global scope is the port to whoever made it
serveDownloads(port);
port.postMessage({ kind: 'hello' }, []); // whoever made it waits to see that the script could be loaded
