// What the app is made of, and how its parts are joined.
import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import type { ChatBackend } from './chat/backend.js';
import { Conversations } from './chat/conversations.js';
import { EngineLink } from './engine/link.js';
import type { LoadWish, ModelChoice } from './engine/protocol.js';
import { filesOf, keepHandles, keptHandles, mayRead } from './files/opened.js';
import { Database } from './store/database.js';
import { Observable } from './store/observable.js';
import { endOffer, remember, remembered } from './store/remembered.js';
import { chosenTools } from './shell/features.js';
import { settings, type Endpoint } from './store/settings.js';
import { navigate, route, type Route } from './router.js';
import { notify } from './views/notices.js';

export class App {
    readonly engine = new EngineLink();
    readonly conversations: Conversations;
    /** What the last visit had open, and this one may not read yet. */
    readonly fileAgain = new Observable<{ name: string; canOpen: boolean } | undefined>(undefined);
    /** This tab has asked for a model: what the engine says of it may come later. */
    private asked = false;

    private constructor(database: Database | undefined) {
        this.conversations = new Conversations(database, {
            backend: () => this.backend(),
            settings: () => settings.value,
            tools: async () => await chosenTools(settings.value.ownTools),
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
        const wish = settings.value.useEndpoint ? undefined : wishFor(await app.firstChoice());
        app.asked = wish !== undefined;
        void app.engine.start(wish);
        route.subscribe((where) => void app.follow(where));
        await app.follow(route.value);
        return app;
    }

    /** The conversation that the address names is the open one. */
    private async follow(where: Route): Promise<void> {
        if (where.page !== 'chat') return;
        if (await this.conversations.open(where.conversation).catch(() => false)) return;
        notify('That conversation is not in this browser. Here is a new one.');
        navigate({ page: 'chat' }, true);
    }

    /** Loads a model for all tabs, and again at the next visit if it can be found again then. */
    loadModel(choice: ModelChoice): void {
        void this.load(choice);
    }

    /** `handles`: where the files are, if the browser tells. */
    loadFiles(files: File[], handles: readonly FileSystemFileHandle[] = []): void {
        const sorted = [...files].sort((a, b) => (a.name < b.name ? -1 : 1));
        const [mmproj] = sorted.filter(isProjector);
        const models = sorted.filter((file) => file !== mmproj);
        const { wish } = this.engine.state.value;
        // By itself it belongs to the model that answers.
        const choice: ModelChoice = models.length === 0 && wish ? wish.choice : { kind: 'files', files: models.length > 0 ? models : sorted };
        const kept = models.length > 0 && handles.length === files.length ? handles : [];
        void this.load(choice, kept, models.length === 0 && !wish ? undefined : mmproj);
    }

    /** The file of the visit before; to be called by a click, as the browser asks for permission. */
    async openFileAgain(): Promise<void> {
        const handles = await keptHandles();
        try {
            if (!(await mayRead(handles, true))) return;
            this.loadFiles(await filesOf(handles), handles);
        } catch {
            notify(`${this.fileAgain.value?.name ?? 'The file'} is not where it was; choose it again.`);
            this.fileAgain.set(undefined);
        }
    }

    /** Who says no is not asked again. */
    forgetFile(): void {
        this.fileAgain.set(undefined);
        void keepHandles([]);
        remember({ kind: 'builtin' });
    }

    private async load(choice: ModelChoice, handles: readonly FileSystemFileHandle[] = [], mmproj?: File): Promise<void> {
        if (settings.value.useEndpoint) settings.update({ useEndpoint: false });
        // Only what could be used is worth remembering.
        if (!(await this.engine.call('load', { ...wishFor(choice), asked: true, ...(mmproj ? { mmproj } : {}) }))) return;
        this.fileAgain.set(undefined);
        void keepHandles(handles);
        remember(choice);
        // Whoever has another model need not be offered one.
        if (choice.kind !== 'builtin') endOffer();
    }

    /** A file that may be read at once is; one that may not is offered, and the built-in model answers meanwhile. */
    private async firstChoice(): Promise<ModelChoice> {
        const { choice, file } = remembered();
        if (file === undefined) return choice;
        const handles = await keptHandles();
        if (handles.length > 0 && (await mayRead(handles, false).catch(() => false))) {
            const files = await filesOf(handles).catch(() => []);
            if (files.length > 0) return { kind: 'files', files };
        }
        this.fileAgain.set({ name: file, canOpen: handles.length > 0 });
        return choice;
    }

    /** Although the last load on it never ended. */
    tryGpuAgain(): void {
        const { wish } = this.engine.state.value;
        if (wish) void this.engine.call('load', { ...wishFor(wish.choice), caution: 'waived' });
    }

    private backend(): ChatBackend {
        const { useEndpoint, endpoint } = settings.value;
        if (useEndpoint) return elsewhere(endpoint);
        if (!this.asked && this.engine.state.value.phase === 'idle') void this.engine.call('load', wishFor(remembered().choice));
        this.asked = true;
        return this.engine;
    }
}

/** How to speak to other programs is loaded when somebody does. */
function elsewhere(endpoint: Endpoint): ChatBackend {
    return {
        answer: async (...asked) => await (await import('./chat/remote.js')).remoteBackend(endpoint).answer(...asked),
    };
}

/** `?backend=cpu` in the address wins over the settings, for this tab. */
export function wishFor(choice: ModelChoice): LoadWish {
    const asked = new URLSearchParams(location.search).get('backend');
    const backend = asked === 'cpu' || asked === 'gpu' ? asked : settings.value.backend;
    // Adapters need the larger engine: better at once than in the middle of a chat.
    const workshop = settings.value.adapters.length > 0;
    return { choice, backend, contextLength: settings.value.contextLength, workshop };
}

const AppContext = createContext<App | undefined>(undefined);
export const AppProvider = AppContext.Provider;

export function useApp(): App {
    const app = useContext(AppContext);
    if (!app) throw new Error('there is no app around this view');
    return app;
}

/** As llama.cpp's tools call them. */
function isProjector({ name }: File): boolean {
    return /mmproj.*\.gguf$/i.test(name);
}
