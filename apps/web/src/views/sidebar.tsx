import { useEffect, useRef, useState } from 'preact/hooks';
import { useApp } from '../app.js';
import { hrefOf, navigate, route } from '../router.js';
import { pages } from '../shell/features.js';
import type { Conversation } from '../store/conversation.js';
import { fileName, toJson, toMarkdown } from '../store/export.js';
import { useObserved } from '../store/observable.js';
import { settings, type Settings } from '../store/settings.js';
import { dayOf } from './format.js';
import { Gem } from './gem.js';
import { Icon, IconButton, type IconName } from './icons.js';
import { Menu } from './menu.js';
import { announce, notify } from './notices.js';
import { saveFile } from './save-file.js';
import type { Drawer } from './use-drawer.js';

export function Sidebar({ drawer }: { drawer: Drawer }) {
    const { open, close, follow } = drawer;
    const where = useObserved(route);
    const frame = useRef<HTMLDivElement>(null);
    useEffect(() => {
        if (open) frame.current?.querySelector<HTMLElement>('a, button')?.focus();
    }, [open]);
    return (
        <div
            ref={frame}
            class="sidebar"
            role={open ? 'dialog' : 'complementary'}
            aria-modal={open || undefined}
            aria-label="Conversations and pages"
            onClick={follow}
        >
            <div class="brand">
                <a href={hrefOf({ page: 'chat' })}>
                    <Gem />
                    <span>Lapidary</span>
                </a>
                <IconButton icon="close" label="Close the menu" class="only-phone" onClick={close} />
            </div>
            <a class="button new-chat" href={hrefOf({ page: 'chat' })}>
                <Icon name="plus" />
                New chat
            </a>
            <ConversationList />
            <nav class="pages" aria-label="Pages">
                {pages.map(({ path, label, icon }) => (
                    <a key={path} href={hrefOf({ page: path })} aria-current={where.page === path ? 'page' : undefined}>
                        <Icon name={icon} />
                        {label}
                    </a>
                ))}
                <ThemeButton />
            </nav>
        </div>
    );
}

function ThemeButton() {
    const { theme } = useObserved(settings);
    const next: Record<Settings['theme'], Settings['theme']> = { system: 'light', light: 'dark', dark: 'system' };
    const icon: Record<Settings['theme'], IconName> = { system: 'half', light: 'sun', dark: 'moon' };
    const words = { system: 'as the system', light: 'light', dark: 'dark' };
    return (
        <button
            type="button"
            class="theme"
            onClick={() => {
                settings.update({ theme: next[theme] });
                announce(`Theme: ${words[next[theme]]}`);
            }}
        >
            <Icon name={icon[theme]} />
            Theme: {words[theme]}
        </button>
    );
}

function ConversationList() {
    const app = useApp();
    const all = useObserved(app.conversations.list).filter(({ deletedAt }) => deletedAt === undefined);
    const where = useObserved(route);
    const [query, setQuery] = useState('');
    const [found, setFound] = useState<Set<string>>();
    useEffect(() => {
        if (query.trim() === '') return setFound(undefined);
        let late = false;
        void app.conversations.search(query).then((ids) => {
            if (!late) setFound(ids);
        });
        return () => {
            late = true;
        };
    }, [query, all.length]);
    const shown = found ? all.filter(({ id }) => found.has(id)) : all;
    const groups = new Map<string, Conversation[]>();
    for (const conversation of shown) {
        const day = dayOf(conversation.updatedAt);
        groups.set(day, [...(groups.get(day) ?? []), conversation]);
    }
    const current = where.page === 'chat' ? where.conversation : undefined;
    return (
        <>
            {all.length > 0 && (
                <label class="search">
                    <Icon name="search" />
                    <input
                        type="search"
                        placeholder="Search"
                        aria-label="Search conversations"
                        value={query}
                        onInput={(event) => setQuery(event.currentTarget.value)}
                    />
                </label>
            )}
            <nav class="conversations" aria-label="Conversations">
                {all.length === 0 && (
                    <p class="faint">Conversations will be listed here. They stay in this browser.</p>
                )}
                {found && shown.length === 0 && <p class="faint">Nothing found for “{query.trim()}”.</p>}
                {[...groups].map(([day, conversations]) => (
                    <section key={day}>
                        <h2>{day}</h2>
                        <ul>
                            {conversations.map((conversation) => (
                                <Entry
                                    key={conversation.id}
                                    conversation={conversation}
                                    current={conversation.id === current}
                                />
                            ))}
                        </ul>
                    </section>
                ))}
            </nav>
        </>
    );
}

function Entry({ conversation, current }: { conversation: Conversation; current: boolean }) {
    const app = useApp();
    const { id, title } = conversation;
    const [renaming, setRenaming] = useState(false);
    const link = useRef<HTMLAnchorElement>(null);
    const renamed = useRef(false);
    useEffect(() => {
        if (renamed.current && !renaming) link.current?.focus();
        renamed.current = false;
    }, [renaming]);
    const answering = useObserved(app.conversations.answers).has(id);
    const download = async (kind: 'json' | 'md') => {
        const loaded = await app.conversations.load(id);
        if (!loaded) return;
        const text = await (kind === 'json' ? toJson : toMarkdown)(loaded.conversation, loaded.messages);
        saveFile(fileName(title, kind), text, kind === 'json' ? 'application/json' : 'text/markdown');
    };
    const remove = async () => {
        await app.conversations.remove(id);
        // Back would only find that it is gone.
        if (current) navigate({ page: 'chat' }, true);
        notify(`'${title}' was deleted.`, { label: 'Undo', run: () => void app.conversations.restore(id) });
    };
    if (renaming) {
        return (
            <li>
                <Rename
                    title={title}
                    onDone={(next, byKey) => {
                        // Its end is told twice: a field that goes away loses the focus.
                        renamed.current ||= byKey;
                        setRenaming(false);
                        if (next !== undefined) void app.conversations.rename(id, next);
                    }}
                />
            </li>
        );
    }
    return (
        <li class={current ? 'current' : undefined}>
            <a
                ref={link}
                href={hrefOf({ page: 'chat', conversation: id })}
                aria-current={current ? 'page' : undefined}
                title={title}
                dir="auto"
            >
                {answering && <span class="dot" title="Being answered" />}
                {title}
            </a>
            <Menu
                label={`More for ${title}`}
                items={[
                    { label: 'Rename', run: () => setRenaming(true) },
                    { label: 'Export as Markdown', run: () => void download('md') },
                    { label: 'Export as JSON', run: () => void download('json') },
                    { label: 'Delete', run: () => void remove(), danger: true },
                ]}
            />
        </li>
    );
}

interface RenameProps {
    title: string;
    /** Without a title: nothing is to change. `byKey`: the focus would be lost, and is not on its way elsewhere. */
    onDone: (title: string | undefined, byKey: boolean) => void;
}

function Rename({ title, onDone }: RenameProps) {
    const input = useRef<HTMLInputElement>(null);
    useEffect(() => {
        input.current?.focus();
        input.current?.select();
    }, []);
    return (
        <form
            class="rename"
            onSubmit={(event) => {
                event.preventDefault();
                onDone(input.current?.value, true);
            }}
        >
            <input
                ref={input}
                aria-label="New title"
                dir="auto"
                defaultValue={title}
                onBlur={(event) => onDone(event.currentTarget.value, false)}
                onKeyDown={(event) => {
                    if (event.key !== 'Escape') return;
                    event.preventDefault(); // it leaves the field, and nothing else
                    onDone(undefined, true);
                }}
            />
        </form>
    );
}
