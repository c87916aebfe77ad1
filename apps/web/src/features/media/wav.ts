/** Of one channel, in 16 bits. */
export function wavFile(pieces: readonly Float32Array[], rate: number, name: string): File {
    const samples = pieces.reduce((sum, { length }) => sum + length, 0);
    const view = new DataView(new ArrayBuffer(44 + samples * 2));
    const text = (at: number, letters: string) => [...letters].forEach((letter, i) => view.setUint8(at + i, letter.charCodeAt(0)));
    text(0, 'RIFF');
    view.setUint32(4, view.byteLength - 8, true);
    text(8, 'WAVEfmt ');
    view.setUint32(16, 16, true);
    view.setUint16(20, 1, true);
    view.setUint16(22, 1, true);
    view.setUint32(24, rate, true);
    view.setUint32(28, rate * 2, true);
    view.setUint16(32, 2, true);
    view.setUint16(34, 16, true);
    text(36, 'data');
    view.setUint32(40, samples * 2, true);
    let at = 44;
    for (const piece of pieces) {
        for (const value of piece) {
            view.setInt16(at, Math.max(-1, Math.min(1, value)) * 0x7fff, true);
            at += 2;
        }
    }
    return new File([view.buffer], name, { type: 'audio/wav' });
}
