// The frame around every page: conversations at the side, the page in the middle, files welcome anywhere.
import type { ComponentType } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { useApp } from '../app.js';
import { route, type Page } from '../router.js';
import type { PageProps } from '../shell/feature.js';
import { pages } from '../shell/features.js';
import { useObserved } from '../store/observable.js';
import { ChatPage } from './chat-page.js';
import { DropTarget } from './drop-target.js';
import { Notices, announce, notify } from './notices.js';
import { Sidebar } from './sidebar.js';
import { useDrawer } from './use-drawer.js';

export function Shell() {
    const app = useApp();
    const where = useObserved(route);
    const drawer = useDrawer();
    const main = useRef<HTMLElement>(null);

    const { phase, name } = useObserved(app.engine.state);
    useEffect(() => {
        if (phase === 'ready') announce(`${name} is ready`);
        if (phase === 'failed') announce(`${name} could not be loaded`);
    }, [phase, name]);

    return (
        <div class={`shell${drawer.open ? ' menu-open' : ''}`}>
            <button type="button" class="skip button" inert={drawer.open} onClick={() => main.current?.focus()}>
                Skip to the page
            </button>
            <Sidebar drawer={drawer} />
            {drawer.open && <div class="curtain" onClick={drawer.close} />}
            <main ref={main} tabIndex={-1} inert={drawer.open}>
                {where.page === 'chat' ? (
                    <ChatPage onMenu={drawer.show} />
                ) : (
                    <OtherPage key={where.page} page={where.page} onMenu={drawer.show} />
                )}
            </main>
            <DropTarget />
            <Notices />
        </div>
    );
}

function OtherPage({ page, onMenu }: { page: Page } & PageProps) {
    const frame = useRef<HTMLDivElement>(null);
    const [View, setView] = useState<ComponentType<PageProps>>();
    useEffect(() => {
        pages
            .find(({ path }) => path === page)
            ?.load()
            .then(
                (view) => setView(() => view),
                () => notify('This page could not be loaded.', { label: 'Reload', run: () => location.reload() }),
            );
    }, []);
    // Who changes the page by keyboard goes on reading there.
    useEffect(() => frame.current?.querySelector('h1')?.focus(), [View]);
    return (
        <div class="page" ref={frame}>
            {View && <View onMenu={onMenu} />}
        </div>
    );
}
