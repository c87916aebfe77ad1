// A model for tests that are not about the model: a layer of noise and one format of weights, so that a software GPU,
// which takes a fifth of a second to compile a kernel, has half as many to compile as for the smallest fixture.
import { promises as fs } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { synthesize } from 'lapidary';
import { FileSink, loadEngine } from 'lapidary/node';

/** The name that the site gives it, beside those of the fixtures. */
export const tinyModel = 'tiny-one';

/** Where it was written; the folder is the caller's to remove. */
export async function writeTinyModel(): Promise<string> {
    const file = path.join(await fs.mkdtemp(path.join(os.tmpdir(), 'lapidary-web-')), `${tinyModel}.gguf`);
    const engine = await loadEngine();
    const sink = await FileSink.create(file, { overwrite: false });
    await synthesize(engine, { variant: tinyModel, type: 'q8_0' }, sink);
    await sink.commit();
    engine.close();
    return file;
}
