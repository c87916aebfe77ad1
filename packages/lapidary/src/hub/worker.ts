// Downloads in a worker of their own: files are written in place there, and a page that answers has other things to do.
import { workerPort, type MessageEnd } from '../rpc/port.js';
import { serveDownloads } from './downloader.js';

const end = globalThis as unknown as MessageEnd; // in a worker the global scope is the port to whoever made it
serveDownloads(workerPort(end));
end.postMessage({ hello: true }, []); // whoever made it waits to see that the script could be loaded
