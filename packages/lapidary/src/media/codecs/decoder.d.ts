export interface Piece {
    channelData: Float32Array[];
    samplesDecoded: number;
    sampleRate: number;
    /** Of FLAC. */
    bitDepth: number;
    errors: readonly { message: string }[];
}
/** Of a stream that comes in pieces. */
export interface StreamDecoder {
    readonly ready: Promise<void>;
    decode(bytes: Uint8Array): Piece | Promise<Piece>;
    flush?(): Promise<Piece>;
    free(): void;
}
