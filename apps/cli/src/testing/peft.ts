// An adapter of noise, as PEFT would have written it.
import { promises as fs } from 'node:fs';
import path from 'node:path';

/** Made-up numbers that are the same every time. */
function noise(count: number, seed: number): Float32Array {
    let state = seed >>> 0;
    return Float32Array.from({ length: count }, () => {
        state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
        return (state / 2 ** 32 - 0.5) * 0.2;
    });
}

/** A PEFT adapter of several matrices, each with what it reads and what it makes. */
export async function writeAdapter(folder: string, modules: Record<string, [number, number]>, rank: number): Promise<string> {
    const header: Record<string, object> = {};
    const parts: Uint8Array[] = [];
    let at = 0;
    Object.entries(modules).forEach(([name, [input, output]], i) => {
        for (const [matrix, shape] of [['A', [rank, input]], ['B', [output, rank]]] as const) {
            const values = noise(shape[0] * shape[1], 2 * i + (matrix === 'A' ? 1 : 2));
            const end = at + values.byteLength;
            header[`base_model.model.model.layers.${name}.lora_${matrix}.weight`] = { dtype: 'F32', shape, data_offsets: [at, end] };
            parts.push(new Uint8Array(values.buffer));
            at = end;
        }
    });
    const text = Buffer.from(JSON.stringify(header));
    const length = Buffer.alloc(8);
    length.writeBigUInt64LE(BigInt(text.length));
    await fs.mkdir(folder, { recursive: true });
    await fs.writeFile(path.join(folder, 'adapter_model.safetensors'), Buffer.concat([length, text, ...parts]));
    const config = { peft_type: 'LORA', r: rank, lora_alpha: 2 * rank, target_modules: Object.keys(modules), bias: 'none' };
    await fs.writeFile(path.join(folder, 'adapter_config.json'), JSON.stringify(config));
    return folder;
}
