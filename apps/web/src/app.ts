// What the app is made of, and how its parts are joined.
import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import type { ChatBackend } from './chat/backend.js';
import { Conversations } from './chat/conversations.js';
import { remoteBackend } from './chat/remote.js';
import { EngineLink } from './engine/link.js';
import type { LoadWish, ModelChoice } from './engine/protocol.js';
import { Database } from './store/database.js';
import { settings } from './store/settings.js';
import { navigate } from './router.js';
import { notify } from './views/notices.js';

const choiceKey = 'lapidary-model';

export class App {
    readonly engine = new EngineLink();
    readonly conversations: Conversations;

    private constructor(database: Database | undefined) {
        this.conversations = new Conversations(database, {
            backend: () => this.backend(),
            settings: () => settings.value,
            onProblem: (text) => notify(text),
            onCreated: (id) => {
                navigate({ page: 'chat', conversation: id }, true);
                // From now on there is something to lose.
                void navigator.storage?.persist?.();
            },
        });
    }

    static async start(): Promise<App> {
        let app: App;
        try {
            app = new App(await Database.open());
            await app.conversations.start();
        } catch {
            notify('This browser does not let the page store anything: conversations last until you leave.');
            app = new App(undefined);
            await app.conversations.start();
        }
        // Nothing is loaded for someone whose answers come from elsewhere.
        const wish = settings.value.useEndpoint ? undefined : wishFor(rememberedChoice());
        void app.engine.start(wish);
        return app;
    }

    /** Loads a model for all tabs, and again at the next visit if it can be found again then. */
    loadModel(choice: ModelChoice): void {
        if (settings.value.useEndpoint) settings.update({ useEndpoint: false });
        rememberChoice(choice);
        void this.engine.call('load', wishFor(choice));
    }

    /** Although the last load on it never ended. */
    tryGpuAgain(): void {
        const { wish } = this.engine.state.value;
        if (wish) void this.engine.call('load', { ...wishFor(wish.choice), caution: 'waived' });
    }

    private backend(): ChatBackend {
        const { useEndpoint, endpoint } = settings.value;
        if (useEndpoint) return remoteBackend(endpoint);
        if (this.engine.state.value.phase === 'idle') this.loadModel(rememberedChoice());
        return this.engine;
    }
}

/** `?backend=cpu` in the address wins over the settings, for this tab. */
export function wishFor(choice: ModelChoice): LoadWish {
    const asked = new URLSearchParams(location.search).get('backend');
    const backend = asked === 'cpu' || asked === 'gpu' ? asked : settings.value.backend;
    // Adapters need the larger engine: better at once than in the middle of a chat.
    const workshop = settings.value.adapters.length > 0;
    return { choice, backend, contextLength: settings.value.contextLength, workshop };
}

/** Files and folders cannot be opened again without asking; after a visit with them it is the built-in model again. */
function rememberChoice(choice: ModelChoice): void {
    try {
        if (choice.kind === 'ollama' || choice.kind === 'url') localStorage.setItem(choiceKey, JSON.stringify(choice));
        else localStorage.removeItem(choiceKey);
    } catch {
        // Storage is forbidden: nothing is remembered.
    }
}

function rememberedChoice(): ModelChoice {
    try {
        const stored = JSON.parse(localStorage.getItem(choiceKey) ?? '{}') as Record<string, unknown>;
        if (stored['kind'] === 'ollama' && typeof stored['model'] === 'string') {
            return { kind: 'ollama', model: stored['model'] };
        }
        if (stored['kind'] === 'url' && typeof stored['url'] === 'string') return { kind: 'url', url: stored['url'] };
    } catch {
        // Damaged or forbidden.
    }
    return { kind: 'builtin' };
}

const AppContext = createContext<App | undefined>(undefined);
export const AppProvider = AppContext.Provider;

export function useApp(): App {
    const app = useContext(AppContext);
    if (!app) throw new Error('there is no app around this view');
    return app;
}
