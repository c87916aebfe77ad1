// The beginning of a helping thread in a page.
import type { ThreadStart } from './kernels.js';
import { becomeThread } from './thread.js';

globalThis.onmessage = ({ data }: MessageEvent<ThreadStart>) => {
    void becomeThread(data, () => postMessage('ready'));
};
