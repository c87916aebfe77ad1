// Short messages at the edge of the screen, and words for those who listen instead of looking.
import { Observable, useObserved } from '../store/observable.js';
import { IconButton } from './icons.js';

interface Notice {
    id: number;
    text: string;
    action?: { label: string; run: () => void };
}

const showForMs = 10_000;
// There is something to do: it has to be read, and reached.
const showActionForMs = 30_000;
const notices = new Observable<Notice[]>([]);
const spoken = new Observable('');
let lastId = 0;

export function notify(text: string, action?: Notice['action']): void {
    const id = ++lastId;
    notices.set([...notices.value.slice(-2), action ? { id, text, action } : { id, text }]);
    setTimeout(() => expire(id), action ? showActionForMs : showForMs);
}

function expire(id: number): void {
    if (document.querySelector('.notices:is(:hover, :focus-within)')) setTimeout(() => expire(id), 1000);
    else dismiss(id);
}

/** Says something to screen readers only. */
export function announce(text: string): void {
    // The same words twice in a row would not be heard again.
    spoken.set(text === spoken.value ? `${text}\u00a0` : text);
}

function dismiss(id: number): void {
    notices.set(notices.value.filter((notice) => notice.id !== id));
}

export function Notices() {
    const shown = useObserved(notices);
    const words = useObserved(spoken);
    return (
        <>
            <div class="notices" role="status">
                {shown.map(({ id, text, action }) => (
                    <div class="notice" key={id}>
                        <span>{text}</span>
                        {action && (
                            <button
                                type="button"
                                class="button"
                                onClick={() => {
                                    dismiss(id);
                                    action.run();
                                }}
                            >
                                {action.label}
                            </button>
                        )}
                        <IconButton icon="close" label="Dismiss" onClick={() => dismiss(id)} />
                    </div>
                ))}
            </div>
            <div class="only-spoken" aria-live="polite">
                {words}
            </div>
        </>
    );
}
