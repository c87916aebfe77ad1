// The end of the one that has the engine: every tab that says hello is answered over the channel, until it is gone.
import { LapidaryError } from 'lapidary';
import { Rpc, channelPort, type Handlers } from 'lapidary/rpc';
import type { EngineHost } from './host.js';
import { mergeStates, type Calls, type Control } from './protocol.js';

/** Held by a tab for as long as it lives. */
export const tabLock = (tab: string) => `lapidary-tab-${tab}`;
/** How the engine of a term is called on the channel. */
export const engineOf = (term: number) => `engine-${term}`;

export class Leader {
    readonly handlers: Handlers<Calls>;
    private readonly tabs = new Map<string, Rpc<Record<never, never>, Calls>>();
    private readonly listen = ({ data }: MessageEvent<Control>) => this.receive(data);

    constructor(
        readonly host: EngineHost,
        readonly term: number,
        private readonly version: string,
        private readonly channel: BroadcastChannel | undefined,
        private readonly locks: LockManager | undefined,
    ) {
        this.handlers = host.handlers(term);
        channel?.addEventListener('message', this.listen);
        this.say({ control: 'here', term });
    }

    /** Somebody else has the engine now. */
    end(): void {
        this.channel?.removeEventListener('message', this.listen);
        for (const rpc of this.tabs.values()) rpc.close(new LapidaryError('cancelled', 'the engine moved to another tab'));
        this.tabs.clear();
        void this.host.dispose();
    }

    private receive(message: Control): void {
        if (message.control !== 'hello') return;
        const { tab, version } = message;
        const { term } = this;
        // Of another version nobody knows what it would mean by what it says.
        if (version !== this.version) return this.say({ control: 'other-version', tab, term, version: this.version });
        if (this.channel && !this.tabs.has(tab)) this.serve(tab, this.channel);
        this.say({ control: 'welcome', tab, term });
    }

    private serve(tab: string, channel: BroadcastChannel): void {
        const port = channelPort(channel, engineOf(this.term), tab);
        const rpc = new Rpc<Record<never, never>, Calls>(port, this.handlers, { watch: mergeStates });
        this.tabs.set(tab, rpc);
        // Granted when the tab is closed, or has crashed: nobody reads what is written for it.
        void this.locks?.request(tabLock(tab), { mode: 'shared' }, async () => {
            rpc.close(new LapidaryError('cancelled', 'its tab was closed'));
            this.tabs.delete(tab);
        }).catch(() => undefined);
    }

    private say(message: Control): void {
        this.channel?.postMessage(message);
    }
}
