// A projector of noise, for tests in which it matters that pictures and sounds arrive, not what they look like: 12B's two kinds,
// which are a few matrices. Fits any model of a width; 512 is the built-in one's.
const alignment = 32;

export function tinyProjector(width = 512): Uint8Array<ArrayBuffer> {
    const inner = 32;
    const values = 3 * 48 * 48;
    const tensors: [name: string, ...ne: number[]][] = [
        ['v.patch_norm.1.weight', values],
        ['v.patch_norm.1.bias', values],
        ['v.patch_embd.weight', values, inner],
        ['v.patch_embd.bias', inner],
        ...[2, 3].flatMap((norm): [string, number][] => [
            [`v.patch_norm.${norm}.weight`, inner],
            [`v.patch_norm.${norm}.bias`, inner],
        ]),
        ['v.position_embd.weight', inner, 64, 2],
        ['mm.input_projection.weight', inner, width],
        ['mm.a.input_projection.weight', 640, width],
    ];
    const header = new Writer();
    header.bytes(new TextEncoder().encode('GGUF'));
    header.u32(3);
    header.u64(tensors.length);
    header.u64(5);
    header.text('general.architecture', 'clip');
    header.flag('clip.has_vision_encoder');
    header.flag('clip.has_audio_encoder');
    header.text('clip.vision.projector_type', 'gemma4uv');
    header.text('clip.audio.projector_type', 'gemma4ua');
    const padded = (bytes: number) => Math.ceil(bytes / alignment) * alignment;
    let offset = 0;
    for (const [name, ...ne] of tensors) {
        header.string(name);
        header.u32(ne.length);
        for (const size of ne) header.u64(size);
        header.u32(0); // F32
        header.u64(offset);
        offset += padded(4 * ne.reduce((product, size) => product * size, 1));
    }
    const start = padded(header.length);
    const file = new Uint8Array(start + offset);
    file.set(header.done());
    const data = new DataView(file.buffer, start);
    let state = 1;
    for (let at = 0; at < offset; at += 4) {
        state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
        data.setFloat32(at, 0.1 * ((state >>> 8) / (1 << 23) - 1), true);
    }
    return file;
}

class Writer {
    private readonly out: number[] = [];

    get length(): number {
        return this.out.length;
    }

    bytes(bytes: Uint8Array): void {
        this.out.push(...bytes);
    }

    u32(value: number): void {
        this.bytes(new Uint8Array(Uint32Array.of(value).buffer));
    }

    u64(value: number): void {
        this.u32(value);
        this.u32(0);
    }

    string(text: string): void {
        const bytes = new TextEncoder().encode(text);
        this.u64(bytes.length);
        this.bytes(bytes);
    }

    text(key: string, value: string): void {
        this.string(key);
        this.u32(8);
        this.string(value);
    }

    flag(key: string): void {
        this.string(key);
        this.u32(7);
        this.out.push(1);
    }

    done(): Uint8Array {
        return Uint8Array.from(this.out);
    }
}
