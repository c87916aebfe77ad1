// A button that opens a short list of things to do.
import { useEffect, useRef, useState } from 'preact/hooks';

export interface MenuItem {
    label: string;
    run: () => void;
    danger?: boolean;
}

export function Menu({ label, items }: { label: string; items: MenuItem[] }) {
    const [open, setOpen] = useState(false);
    const frame = useRef<HTMLDivElement>(null);
    const button = useRef<HTMLButtonElement>(null);
    useEffect(() => {
        if (!open) return;
        const inside = () => [...(frame.current?.querySelectorAll<HTMLElement>('[role=menuitem]') ?? [])];
        inside()[0]?.focus();
        const outside = (event: Event) => {
            if (!frame.current?.contains(event.target as Node)) setOpen(false);
        };
        const key = (event: KeyboardEvent) => {
            const all = inside();
            const at = all.indexOf(document.activeElement as HTMLElement);
            const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
            if (step !== undefined) {
                event.preventDefault();
                all[(at + step + all.length) % all.length]?.focus();
            } else if (event.key === 'Escape') {
                event.stopPropagation();
                setOpen(false);
                button.current?.focus();
            } else if (event.key === 'Tab') {
                setOpen(false);
            }
        };
        document.addEventListener('pointerdown', outside);
        frame.current?.addEventListener('keydown', key);
        return () => {
            document.removeEventListener('pointerdown', outside);
            frame.current?.removeEventListener('keydown', key);
        };
    }, [open]);
    return (
        <div class="menu" ref={frame}>
            <button
                ref={button}
                type="button"
                class="icon-button"
                aria-label={label}
                title={label}
                aria-haspopup="menu"
                aria-expanded={open}
                onClick={() => setOpen(!open)}
            >
                <svg class="icon dots" viewBox="0 0 24 24" aria-hidden="true">
                    <circle cx="6" cy="12" r="1.4" />
                    <circle cx="12" cy="12" r="1.4" />
                    <circle cx="18" cy="12" r="1.4" />
                </svg>
            </button>
            {open && (
                <div class="menu-items" role="menu" aria-label={label}>
                    {items.map((item) => (
                        <button
                            key={item.label}
                            type="button"
                            role="menuitem"
                            class={item.danger ? 'danger' : undefined}
                            onClick={() => {
                                setOpen(false);
                                button.current?.focus();
                                item.run();
                            }}
                        >
                            {item.label}
                        </button>
                    ))}
                </div>
            )}
        </div>
    );
}
