// The microphone: pieces of sound as they come, how loud it is, and the end after silence.
import { wavFile } from './wav.js';

/** Quieter than this, by root mean square, is silence. */
const silence = 0.01;
/** After something was said. */
const quietSeconds = 2;
/** As long as the engine takes. */
const mostSeconds = 1800;

export interface Heard {
    seconds: number;
    /** 0 to 1. */
    level: number;
}

export class Recording {
    private readonly pieces: Float32Array[] = [];
    private samples = 0;
    private spoke = false;
    private quietSince = 0;
    private over = false;

    private constructor(
        private readonly context: AudioContext,
        private readonly stream: MediaStream,
    ) {}

    /** `onEnd`: it has stopped by itself. */
    static async start(onHeard: (heard: Heard) => void, onEnd: () => void): Promise<Recording> {
        const stream = await navigator.mediaDevices.getUserMedia({ audio: { channelCount: 1 } });
        const context = new AudioContext();
        const recording = new Recording(context, stream);
        try {
            await context.audioWorklet.addModule(new URL('recorder.js', document.baseURI));
            const recorder = new AudioWorkletNode(context, 'recorder', { numberOfOutputs: 0 });
            recorder.port.onmessage = ({ data }: MessageEvent<Float32Array>) => {
                if (recording.over) return;
                onHeard(recording.take(data));
                if (recording.isQuiet()) onEnd();
            };
            context.createMediaStreamSource(stream).connect(recorder);
            await context.resume();
            return recording;
        } catch (error) {
            recording.close();
            throw error;
        }
    }

    private take(piece: Float32Array): Heard {
        this.pieces.push(piece);
        this.samples += piece.length;
        const level = Math.sqrt(piece.reduce((sum, x) => sum + x * x, 0) / piece.length);
        if (level > silence) {
            this.spoke = true;
            this.quietSince = this.samples;
        }
        return { seconds: this.samples / this.context.sampleRate, level: Math.min(1, level * 4) };
    }

    private isQuiet(): boolean {
        const { sampleRate } = this.context;
        const quiet = this.spoke && this.samples - this.quietSince > quietSeconds * sampleRate;
        return quiet || this.samples > mostSeconds * sampleRate;
    }

    /** Undefined when there was nothing. */
    finish(): File | undefined {
        this.close();
        return this.samples === 0 ? undefined : wavFile(this.pieces, this.context.sampleRate, 'Recording.wav');
    }

    /** Gives the microphone back. */
    close(): void {
        if (this.over) return;
        this.over = true;
        for (const track of this.stream.getTracks()) track.stop();
        void this.context.close();
    }
}
