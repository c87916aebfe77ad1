// The tensors of a safetensors file that a command is given: float32 and int32 only.
import { LapidaryError, isObject, type JsonValue } from 'lapidary';

export class Tensors {
    private constructor(
        private readonly name: string,
        private readonly header: Record<string, JsonValue | undefined>,
        private readonly data: Uint8Array,
    ) {}

    static parse(bytes: Uint8Array, name: string): Tensors {
        const wrong = () => new LapidaryError('bad_file', `'${name}' is not a safetensors file`);
        if (bytes.length < 8) throw wrong();
        const size = new DataView(bytes.buffer, bytes.byteOffset, 8).getBigUint64(0, true);
        if (size > BigInt(bytes.length - 8)) throw wrong();
        const end = 8 + Number(size);
        let header: unknown;
        try {
            header = JSON.parse(new TextDecoder().decode(bytes.subarray(8, end)));
        } catch {
            throw wrong();
        }
        if (!isObject(header)) throw wrong();
        return new Tensors(name, header, bytes.subarray(end));
    }

    numbers(tensor: string, type: 'F32' | 'I32'): number[] {
        const entry = this.header[tensor];
        if (!isObject(entry)) throw new LapidaryError('bad_file', `'${this.name}' has no tensor '${tensor}'`);
        const [from, to] = Array.isArray(entry['data_offsets']) ? entry['data_offsets'].map(Number) : [];
        const fits = from !== undefined && to !== undefined && from >= 0 && from <= to && to <= this.data.length && (to - from) % 4 === 0;
        if (entry['dtype'] !== type || !fits) {
            throw new LapidaryError('bad_file', `the tensor '${tensor}' of '${this.name}' is not made of ${type}`);
        }
        const view = new DataView(this.data.buffer, this.data.byteOffset + from, to - from);
        return Array.from({ length: (to - from) / 4 }, (_, i) =>
            type === 'F32' ? view.getFloat32(i * 4, true) : view.getInt32(i * 4, true),
        );
    }
}
