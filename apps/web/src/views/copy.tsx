import { useEffect, useState } from 'preact/hooks';
import { Icon } from './icons.js';
import { announce } from './notices.js';

/** False when the browser did not allow it. */
export async function copyText(text: string): Promise<boolean> {
    try {
        await navigator.clipboard.writeText(text);
        return true;
    } catch {
        return false;
    }
}

export function CopyButton({ text, label, words }: { text: string; label: string; words?: string }) {
    const [copied, setCopied] = useState(false);
    useEffect(() => {
        if (!copied) return;
        const timer = setTimeout(() => setCopied(false), 1600);
        return () => clearTimeout(timer);
    }, [copied]);
    const copy = async () => {
        const done = await copyText(text);
        setCopied(done);
        announce(done ? 'Copied' : 'The browser did not allow copying');
    };
    return (
        <button
            type="button"
            class={words ? 'button' : 'icon-button'}
            aria-label={words ? undefined : label}
            title={label}
            onClick={() => void copy()}
        >
            <Icon name={copied ? 'check' : 'copy'} />
            {words}
        </button>
    );
}
