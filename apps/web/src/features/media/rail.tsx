// Camera and microphone beside the text. What the model that answers has no sense for is grey and says why.
import { useEffect, useRef, useState } from 'preact/hooks';
import { useApp } from '../../app.js';
import { answering, takeFiles } from '../../files/taking.js';
import { useObserved } from '../../store/observable.js';
import { settings } from '../../store/settings.js';
import { cannot } from '../../views/drop-words.js';
import { IconButton } from '../../views/icons.js';
import { announce, notify } from '../../views/notices.js';
import { Recording, type Heard } from './record.js';
import { clock } from './words.js';
import './media.css';

export function MediaRail() {
    const app = useApp();
    const { info } = useObserved(app.engine.state);
    const { useEndpoint } = useObserved(settings);
    const camera = useRef<HTMLInputElement>(null);
    const recording = useRef<Recording>();
    const [heard, setHeard] = useState<Heard>();
    const sees = useEndpoint || info?.vision !== undefined;
    const hears = useEndpoint || info?.audio !== undefined;
    useEffect(() => () => recording.current?.close(), []);

    const discard = () => {
        recording.current?.close();
        recording.current = undefined;
        setHeard(undefined);
    };
    const stop = () => {
        const file = recording.current?.finish();
        discard();
        if (file) void takeFiles(app, [file], Promise.resolve([]));
    };
    const record = async () => {
        try {
            setHeard({ seconds: 0, level: 0 });
            recording.current = await Recording.start(setHeard, stop);
            announce('Recording.');
        } catch (error) {
            discard();
            const refused = error instanceof DOMException && error.name === 'NotAllowedError';
            const why = refused ? 'The browser has not given this page the microphone.' : 'There is no microphone that this page could use.';
            notify(`${why} A recorded file can be attached instead.`);
        }
    };
    return (
        <>
            {matchMedia('(pointer: coarse)').matches && (
                <>
                    <input
                        ref={camera}
                        type="file"
                        accept="image/*"
                        capture="environment"
                        aria-label="Photograph"
                        hidden
                        onChange={({ currentTarget }) => {
                            void takeFiles(app, [...(currentTarget.files ?? [])], Promise.resolve([]));
                            currentTarget.value = '';
                        }}
                    />
                    <IconButton
                        icon="camera"
                        label={sees ? 'Take a photograph' : cannot(answering(app), 'picture')}
                        disabled={!sees}
                        class="sense"
                        onClick={() => camera.current?.click()}
                    />
                </>
            )}
            <IconButton
                icon="microphone"
                label={hears ? 'Record' : cannot(answering(app), 'sound')}
                disabled={!hears || heard !== undefined}
                class="sense"
                onClick={() => void record()}
            />
            {heard && (
                <div class="recording" role="group" aria-label="Recording">
                    <button type="button" class="button quiet" onClick={discard}>
                        Discard
                    </button>
                    <meter aria-label="How loud it is" min={0} max={1} value={heard.level} />
                    <span class="time">{clock(heard.seconds)}</span>
                    <span class="note">Stops by itself after two quiet seconds. Not sent yet.</span>
                    <IconButton icon="stop" label="Stop recording" onClick={stop} />
                </div>
            )}
        </>
    );
}
