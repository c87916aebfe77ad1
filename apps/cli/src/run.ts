// The process around `main`: what it does with its streams and its end.
import { main } from './main.js';

// `lapidary generate … | head` closes the pipe early: that is no error, and there is nobody to tell.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    process.exit(error.code === 'EPIPE' ? 0 : 1);
});
process.stderr.on('error', () => undefined);

// Node leaves quietly when nothing is left to wait for, also when an answer is still owed.
const silence = () => {
    process.stderr.write('lapidary: the engine never answered\n');
    process.exitCode = 1;
};
process.once('beforeExit', silence);
process.exitCode = await main(process.argv.slice(2)).finally(() => process.off('beforeExit', silence));
