// The menu of narrow screens lies over the page. It has an entry of its own in the history, so that Back closes it as a
// phone's users expect, and the page behind it is out of reach meanwhile.
import { useEffect, useRef, useState } from 'preact/hooks';
import { hrefOf, linkOf, navigate, parseRoute } from '../router.js';

// Where the stylesheet stops hiding the menu.
const wide = '(min-width: 52.01rem)';

export interface Drawer {
    open: boolean;
    show: () => void;
    close: () => void;
    /** Takes the place of following a link inside: the page replaces the drawer in the history. */
    follow: (event: MouseEvent) => void;
}

export function useDrawer(): Drawer {
    const [open, setOpen] = useState(false);
    const opener = useRef<HTMLElement>();
    /** Where the focus goes when it is closed; nowhere when a page was chosen. */
    const returning = useRef(false);

    const show = () => {
        opener.current = document.activeElement as HTMLElement;
        history.pushState({ drawer: true }, '');
        setOpen(true);
    };
    const close = () => {
        if (!open) return;
        returning.current = true;
        setOpen(false);
        if (isDrawerEntry()) history.back();
    };
    const follow = (event: MouseEvent) => {
        const to = linkOf(event);
        if (!open || !to) return;
        event.preventDefault();
        if (hrefOf(to) === hrefOf(parseRoute(location.hash))) return close();
        setOpen(false);
        navigate(to, true);
    };

    useEffect(() => {
        // Left open by a page that was reloaded.
        if (isDrawerEntry()) history.replaceState(null, '');
    }, []);

    useEffect(() => {
        if (!open) {
            if (returning.current) opener.current?.focus();
            returning.current = false;
            return;
        }
        const back = () => {
            if (isDrawerEntry()) return;
            returning.current = true;
            setOpen(false);
        };
        const key = (event: KeyboardEvent) => {
            if (event.key !== 'Escape' || event.defaultPrevented) return;
            close();
        };
        const room = matchMedia(wide);
        const grown = () => room.matches && close();
        addEventListener('popstate', back);
        document.addEventListener('keydown', key);
        room.addEventListener('change', grown);
        return () => {
            removeEventListener('popstate', back);
            document.removeEventListener('keydown', key);
            room.removeEventListener('change', grown);
        };
    }, [open]);

    return { open, show, close, follow };
}

function isDrawerEntry(): boolean {
    return (history.state as { drawer?: unknown } | null)?.drawer === true;
}
