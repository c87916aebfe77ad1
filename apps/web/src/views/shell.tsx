// The frame around every page: conversations at the side, the page in the middle, files welcome anywhere.
import { useEffect, useRef, useState } from 'preact/hooks';
import { useApp } from '../app.js';
import { navigate, route } from '../router.js';
import { useObserved } from '../store/observable.js';
import { BenchPage } from './bench-page.js';
import { ChatPage } from './chat-page.js';
import { DiagnosticsPage } from './diagnostics-page.js';
import { DropTarget } from './drop-target.js';
import { ModelsPage } from './models-page.js';
import { Notices, notify } from './notices.js';
import { SettingsPage } from './settings-page.js';
import { Sidebar } from './sidebar.js';

const pageViews = { models: ModelsPage, bench: BenchPage, diagnostics: DiagnosticsPage, settings: SettingsPage };

export function Shell() {
    const app = useApp();
    const where = useObserved(route);
    const [menuOpen, setMenuOpen] = useState(false);
    const main = useRef<HTMLElement>(null);
    const arrived = useRef(false);
    const conversation = where.page === 'chat' ? where.conversation : undefined;

    useEffect(() => {
        if (where.page !== 'chat') return;
        void app.conversations.open(conversation).then((found) => {
            if (found) return;
            notify('That conversation is not here any more.');
            navigate({ page: 'chat' }, true);
        });
    }, [where.page, conversation]);

    // Who changes the page by keyboard goes on reading there. The chat takes care of itself.
    useEffect(() => {
        setMenuOpen(false);
        if (arrived.current && where.page !== 'chat') main.current?.querySelector('h1')?.focus();
        arrived.current = true;
    }, [where.page]);

    const PageView = where.page === 'chat' ? undefined : pageViews[where.page];
    return (
        <div class={`shell${menuOpen ? ' menu-open' : ''}`}>
            <button type="button" class="skip button" onClick={() => main.current?.focus()}>
                Skip to the page
            </button>
            <Sidebar open={menuOpen} onClose={() => setMenuOpen(false)} />
            {menuOpen && <div class="curtain" onClick={() => setMenuOpen(false)} />}
            <main ref={main} tabIndex={-1}>
                {PageView ? (
                    <PageView onMenu={() => setMenuOpen(true)} />
                ) : (
                    <ChatPage onMenu={() => setMenuOpen(true)} />
                )}
            </main>
            <DropTarget />
            <Notices />
        </div>
    );
}
