#!/usr/bin/env node
// A projector of noise with the sizes of a real one: for measuring how long towers take (lapidary bench PROJECTOR --image 280).
//     node tools/synth-projector.mjs e2b|31b|12b OUT.gguf
import fs from 'node:fs';

const [name, out] = process.argv.slice(2);
const kinds = {
    e2b: { vision: { layers: 16, width: 768, ffn: 3072, heads: 12 }, audio: { layers: 12, width: 1024, ffn: 4096, heads: 8, projected: 1536 }, output: 1536, clips: true },
    '31b': { vision: { layers: 27, width: 1152, ffn: 4304, heads: 16 }, output: 5376 },
    '12b': { unified: true, output: 3840 },
};
const kind = kinds[name];
if (!kind || !out) {
    console.error('usage: synth-projector.mjs e2b|31b|12b OUT.gguf');
    process.exit(2);
}

const [f32, f16] = [0, 1];
const metadata = [['general.architecture', 'clip']];
const tensors = []; // name, type, sizes, value: a number, or noise
const add = (tensor, type, sizes, value) => tensors.push({ tensor, type, sizes, value });
const norm = (tensor, size) => add(`${tensor}.weight`, f32, [size], 1);
const matrix = (tensor, from, to) => {
    add(`${tensor}.weight`, f16, [from, to]);
    if (!kind.clips) return;
    for (const [bound, value] of [['input_min', -6], ['input_max', 6], ['output_min', -12], ['output_max', 12]]) add(`${tensor}.${bound}`, f32, [1], value);
};

function addTower(prefix, { layers, width, ffn, heads }, type) {
    metadata.push(
        [`clip.${prefix}.projector_type`, type],
        [`clip.${prefix}.projection_dim`, kind.output],
        [`clip.${prefix}.embedding_length`, width],
        [`clip.${prefix}.feed_forward_length`, ffn],
        [`clip.${prefix}.block_count`, layers],
        [`clip.${prefix}.attention.head_count`, heads],
        [`clip.${prefix}.attention.layer_norm_epsilon`, { float: 1e-6 }],
    );
}

metadata.push(['clip.has_vision_encoder', true]);
if (kind.vision) {
    const { layers, width, ffn, heads } = kind.vision;
    addTower('vision', kind.vision, 'gemma4v');
    metadata.push(['clip.vision.image_size', 224], ['clip.vision.patch_size', 16]);
    add('v.patch_embd.weight', f16, [16, 16, 3, width]);
    add('v.position_embd.weight', f32, [width, 10240, 2]);
    for (let i = 0; i < layers; i++) {
        const blk = `v.blk.${i}.`;
        for (const one of ['ln1', 'ln2', 'attn_post_norm', 'ffn_post_norm']) norm(blk + one, width);
        for (const one of ['attn_q_norm', 'attn_k_norm']) norm(blk + one, width / heads);
        for (const one of ['attn_q', 'attn_k', 'attn_v', 'attn_out']) matrix(blk + one, width, width);
        matrix(`${blk}ffn_gate`, width, ffn);
        matrix(`${blk}ffn_up`, width, ffn);
        matrix(`${blk}ffn_down`, ffn, width);
    }
    if (!kind.clips) {
        add('v.std_bias', f32, [width], 0.01);
        add('v.std_scale', f32, [width], 1);
    }
    add('mm.input_projection.weight', f16, [width, kind.output]);
}
if (kind.audio) {
    const { layers, width, ffn, heads, projected } = kind.audio;
    metadata.push(['clip.has_audio_encoder', true], ['clip.audio.num_mel_bins', 128]);
    addTower('audio', kind.audio, 'gemma4a');
    add('a.conv1d.0.weight', f32, [3, 3, 1, 128]);
    norm('a.conv1d.0.norm', 128);
    add('a.conv1d.1.weight', f32, [3, 3, 128, 32]);
    norm('a.conv1d.1.norm', 32);
    add('a.input_projection.weight', f32, [1024, width]);
    for (let i = 0; i < layers; i++) {
        const blk = `a.blk.${i}.`;
        for (const one of ['ffn_norm', 'ffn_post_norm', 'ffn_norm_1', 'ffn_post_norm_1', 'attn_pre_norm', 'attn_post_norm', 'conv_norm', 'norm_conv', 'ln2']) norm(blk + one, width);
        for (const one of ['ffn_up', 'ffn_up_1']) matrix(blk + one, width, ffn);
        for (const one of ['ffn_down', 'ffn_down_1']) matrix(blk + one, ffn, width);
        for (const one of ['attn_q', 'attn_k', 'attn_v', 'attn_out', 'conv_pw2']) matrix(blk + one, width, width);
        matrix(`${blk}conv_pw1`, width, 2 * width);
        add(`${blk}attn_k_rel.weight`, f16, [width, width]);
        add(`${blk}per_dim_scale.weight`, f32, [width / heads], 0.7);
        add(`${blk}conv_dw.weight`, f32, [5, width]);
    }
    add('a.pre_encode.out.weight', f16, [width, projected]);
    add('a.pre_encode.out.bias', f32, [projected], 0);
    add('mm.a.input_projection.weight', f16, [projected, kind.output]);
}
if (kind.unified) {
    const [values, width] = [3 * 48 * 48, kind.output];
    metadata.push(['clip.has_audio_encoder', true]);
    addTower('vision', { layers: 0, width, ffn: 0, heads: 0 }, 'gemma4uv');
    addTower('audio', { layers: 0, width: 640, ffn: 0, heads: 0 }, 'gemma4ua');
    metadata.push(['clip.vision.patch_size', 16]);
    for (const [i, size] of [values, width, width].entries()) {
        norm(`v.patch_norm.${i + 1}`, size);
        add(`v.patch_norm.${i + 1}.bias`, f32, [size], 0);
    }
    add('v.patch_embd.weight', f16, [values, width]);
    add('v.patch_embd.bias', f32, [width], 0);
    add('v.position_embd.weight', f32, [width, 1120, 2]);
    add('mm.input_projection.weight', f16, [width, width]);
    add('mm.a.input_projection.weight', f16, [640, width]);
}

const alignment = 32;
const padded = (bytes) => Math.ceil(bytes / alignment) * alignment;
const elements = ({ sizes }) => sizes.reduce((product, size) => product * size, 1);
const bytesOf = (tensor) => elements(tensor) * (tensor.type === f32 ? 4 : 2);
const u32 = (value) => Buffer.from(Uint32Array.of(value).buffer);
const u64 = (value) => Buffer.from(BigUint64Array.of(BigInt(value)).buffer);
const text = (value) => Buffer.concat([u64(Buffer.byteLength(value)), Buffer.from(value)]);

function valueOf(value) {
    if (typeof value === 'string') return Buffer.concat([u32(8), text(value)]);
    if (typeof value === 'boolean') return Buffer.concat([u32(7), Buffer.of(Number(value))]);
    if (typeof value === 'number') return Buffer.concat([u32(4), u32(value)]);
    return Buffer.concat([u32(6), Buffer.from(Float32Array.of(value.float).buffer)]);
}

const header = [Buffer.from('GGUF'), u32(3), u64(tensors.length), u64(metadata.length)];
for (const [key, value] of metadata) header.push(text(key), valueOf(value));
let offset = 0;
for (const one of tensors) {
    header.push(text(one.tensor), u32(one.sizes.length), ...one.sizes.map(u64), u32(one.type), u64(offset));
    offset += padded(bytesOf(one));
}

// From 0.03 to 0.06, of either sign.
const noise = { [f16]: Buffer.alloc(2 * 1000003), [f32]: Buffer.alloc(4 * 1000003) };
let state = 1;
for (let i = 0; i < 1000003; i++) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    const half = 0x2800 | ((state >>> 8) & 0x3ff) | ((state >>> 31) << 15);
    noise[f16].writeUInt16LE(half, 2 * i);
    noise[f32].writeFloatLE((1 - 2 * (half >> 15)) * (0.03125 + (half & 0x3ff) / 32768), 4 * i);
}
const file = fs.openSync(out, 'w');
const start = Buffer.concat(header);
fs.writeSync(file, Buffer.concat([start, Buffer.alloc(padded(start.length) - start.length)]));
for (const one of tensors) {
    const size = bytesOf(one);
    if (one.value !== undefined) {
        fs.writeSync(file, Buffer.from(new Float32Array(elements(one)).fill(one.value).buffer));
    } else {
        for (let at = 0; at < size; ) at += fs.writeSync(file, noise[one.type], 0, Math.min(noise[one.type].length, size - at));
    }
    fs.writeSync(file, Buffer.alloc(padded(size) - size));
}
fs.closeSync(file);
console.log(`${out}: ${tensors.length} tensors, ${(offset / 2 ** 20).toFixed(0)} MiB`);
