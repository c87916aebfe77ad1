// Runs beside the sound of the page and hands over what the microphone hears, a piece at a time.
class Recorder extends AudioWorkletProcessor {
    process([[samples] = []]) {
        if (samples) this.port.postMessage(samples.slice());
        return true;
    }
}
registerProcessor('recorder', Recorder);
