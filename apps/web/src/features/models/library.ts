// What is kept of models on this device and what is on its way here, for everything that shows it.
import type { Download, DownloadState, Endpoints, KeptModel, ResolvedModel } from 'lapidary/hub';
import { Observable } from '../../store/observable.js';
import type { Presence, Transfer } from './row-state.js';

/** What the library needs of a download. */
export type Coming = Pick<Download, 'state' | 'subscribe' | 'pause' | 'resume' | 'cancel'>;

/** The library's ways into the world; tests have others. */
export interface Outside {
    /** Other places than the usual ones. */
    readonly endpoints: Endpoints;
    /** Whether this browser keeps anything for pages. */
    keeps(): Promise<boolean>;
    list(): Promise<KeptModel[]>;
    /** Asks its source: also again, as addresses are not for ever. */
    resolve(reference: string, signal?: AbortSignal): Promise<ResolvedModel>;
    start(model: ResolvedModel): Coming;
    remove(name: string): Promise<void>;
    /** What happened, in a sentence. */
    sentence(error: unknown): string;
    /** Calls when the network is back. */
    onOnline(call: () => void): void;
}

export interface LibraryView {
    /** Undefined while nobody has looked. */
    kept: readonly KeptModel[] | undefined;
    keeps: boolean;
    /** By name. */
    transfers: ReadonlyMap<string, Transfer>;
    /** What has come last, in this visit. */
    arrived: { name: string; title: string } | undefined;
}

export class Library {
    readonly view = new Observable<LibraryView>({ kept: undefined, keeps: true, transfers: new Map(), arrived: undefined });
    private readonly downloads = new Map<string, Coming>();

    constructor(private readonly outside: Outside) {
        // Sooner than by itself.
        outside.onOnline(() => {
            for (const [name, { problem }] of this.downloadsWithProblems()) {
                if (problem) this.downloads.get(name)?.pause();
                this.downloads.get(name)?.resume();
            }
        });
    }

    get endpoints(): Endpoints {
        return this.outside.endpoints;
    }

    async resolve(reference: string, signal?: AbortSignal): Promise<ResolvedModel> {
        return await this.outside.resolve(reference, signal);
    }

    async refresh(): Promise<void> {
        const keeps = await this.outside.keeps();
        this.view.update({ keeps, kept: keeps ? await this.outside.list() : [] });
    }

    presence(name: string): Presence | undefined {
        const found = this.view.value.kept?.find((kept) => kept.name === name);
        return found && { complete: found.state === 'complete', have: found.have, bytes: found.bytes };
    }

    titleOf(name: string): string {
        return this.view.value.kept?.find((kept) => kept.name === name)?.title ?? name;
    }

    get(model: ResolvedModel): void {
        const { name, title } = model;
        const known = this.downloads.get(name);
        if (known) return known.resume();
        const download = this.outside.start(model);
        this.downloads.set(name, download);
        this.show(name, transferOf(download.state));
        download.subscribe((state) => {
            if (this.downloads.get(name) !== download) return;
            if (state.phase === 'kept') return void this.keep(name, title);
            this.show(name, transferOf(state));
            // What is on the disk may be more than what was told last.
            if (state.phase === 'paused' || state.phase === 'failed') void this.refresh();
        });
    }

    pause(name: string): void {
        this.downloads.get(name)?.pause();
    }

    /** Of what is here in part, from this visit or one before. */
    async resume(name: string): Promise<void> {
        const known = this.downloads.get(name);
        if (known) return known.resume();
        const { have = 0, bytes = 0 } = this.presence(name) ?? {};
        const reference = this.view.value.kept?.find((kept) => kept.name === name)?.reference ?? name;
        this.show(name, { is: 'queued' });
        try {
            this.get(await this.outside.resolve(reference));
        } catch (error) {
            const problem = { sentence: this.outside.sentence(error) };
            this.show(name, { is: 'failed', done: have, total: bytes, problem });
        }
    }

    async remove(name: string): Promise<void> {
        const download = this.downloads.get(name);
        this.downloads.delete(name);
        await download?.cancel(); // it still writes
        await this.outside.remove(name);
        this.show(name, undefined);
        await this.refresh();
    }

    private async keep(name: string, title: string): Promise<void> {
        this.downloads.delete(name);
        await this.refresh();
        this.show(name, undefined);
        this.view.update({ arrived: { name, title } });
    }

    private downloadsWithProblems(): [string, DownloadState][] {
        const all = [...this.downloads].map(([name, { state }]): [string, DownloadState] => [name, state]);
        return all.filter(([, { phase, problem }]) => phase === 'paused' && problem !== undefined);
    }

    private show(name: string, transfer: Transfer | undefined): void {
        const transfers = new Map(this.view.value.transfers);
        if (transfer) transfers.set(name, transfer);
        else transfers.delete(name);
        this.view.update({ transfers });
    }
}

/** Undefined when there is nothing to tell that its row would not say anyway. */
export function transferOf({ phase, done, total, rate, etaSeconds, again, problem }: DownloadState): Transfer | undefined {
    const amount = { done, total };
    switch (phase) {
        case 'queued':
            return { is: 'queued' };
        case 'downloading':
        case 'checking':
            return {
                is: phase,
                ...amount,
                rate,
                ...(etaSeconds === undefined ? {} : { secondsLeft: etaSeconds }),
                ...(again ? { again } : {}),
            };
        case 'paused': {
            const { sentence, kind } = problem ?? {};
            // With a problem it goes on by itself.
            if (sentence !== undefined) return { is: 'paused', ...amount, problem: { sentence, automatic: kind === 'offline' } };
            return done === 0 ? undefined : { is: 'paused', ...amount };
        }
        case 'failed':
            return { is: 'failed', ...amount, problem: { sentence: problem?.sentence ?? '' } };
        case 'kept':
            return undefined;
    }
}
