// What rows show of downloads, kept models and what is deleted, without a network.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DownloadState, KeptModel, ResolvedModel } from 'lapidary/hub';
import { Library, transferOf, type Coming, type Outside } from './library.js';
import { rowState, type RowState } from './row-state.js';

class FakeDownload implements Coming {
    state: DownloadState = { phase: 'queued', done: 0, total: 100, rate: 0, etaSeconds: undefined, again: false };
    readonly asked: string[] = [];
    private listener: (state: DownloadState) => void = () => undefined;
    constructor(private readonly outside: FakeOutside, readonly name: string) {}
    subscribe(listener: (state: DownloadState) => void) {
        this.listener = listener;
        return () => undefined;
    }
    pause = () => void this.asked.push('pause');
    resume = () => void this.asked.push('resume');
    cancel = async () => void this.asked.push('cancel');
    tell(change: Partial<DownloadState>): void {
        this.state = { ...this.state, ...change };
        if (this.state.done > 0) this.outside.store(this.name, this.state.done);
        this.listener(this.state);
    }
}

class FakeOutside implements Outside {
    kept: KeptModel[] = [];
    readonly downloads: FakeDownload[] = [];
    readonly resolved: string[] = [];
    readonly endpoints = {};
    broken: Error | undefined;
    online: () => void = () => undefined;
    keeps = async () => true;
    list = async () => this.kept;
    async resolve(reference: string): Promise<ResolvedModel> {
        this.resolved.push(reference);
        if (this.broken) throw this.broken;
        return model(reference.replace('hf:', ''));
    }
    start({ name }: ResolvedModel): FakeDownload {
        const download = new FakeDownload(this, name);
        this.downloads.push(download);
        return download;
    }
    async remove(name: string): Promise<void> {
        this.kept = this.kept.filter((one) => one.name !== name);
    }
    sentence = (error: unknown) => (error as Error).message;
    onOnline(call: () => void): void {
        this.online = call;
    }
    store(name: string, have: number): void {
        const state = have === 100 ? 'complete' : 'partial';
        const entry = { name, title: name, reference: `hf:${name}`, state, have, bytes: 100 } as KeptModel;
        this.kept = [...this.kept.filter((one) => one.name !== name), entry];
    }
}

function model(name: string): ResolvedModel {
    return { name, title: name.toUpperCase() } as ResolvedModel;
}

async function settle(): Promise<void> {
    for (let turn = 0; turn < 30; turn++) await Promise.resolve();
}

function start() {
    const outside = new FakeOutside();
    const library = new Library(outside);
    const state = (name: string): RowState => {
        const { transfers, keeps } = library.view.value;
        const presence = library.presence(name);
        return rowState({ prediction: undefined, presence, transfer: transfers.get(name), answering: false, keeps });
    };
    return { outside, library, state };
}

test('what is asked for is queued, comes, is checked and kept', async () => {
    const { outside, library, state } = start();
    library.get(model('a'));
    library.get(model('a')); // twice is once
    assert.equal(outside.downloads.length, 1);
    const [download] = outside.downloads;
    assert.equal(state('a').is, 'queued');
    download?.tell({ phase: 'downloading', done: 40, rate: 20, etaSeconds: 3 });
    assert.deepEqual(state('a'), { is: 'downloading', done: 40, total: 100, rate: 20, secondsLeft: 3 });
    download?.tell({ phase: 'checking', done: 100, again: true });
    assert.equal(state('a').is, 'checking');
    download?.tell({ phase: 'kept' });
    await settle();
    assert.equal(state('a').is, 'kept');
    assert.deepEqual(library.view.value.arrived, { name: 'a', title: 'A' });
});

test('of a visit before, its source is asked again; when it refuses, what has arrived stays', async () => {
    const { outside, library, state } = start();
    outside.store('a', 40);
    await library.refresh();
    assert.deepEqual(state('a'), { is: 'paused', done: 40, total: 100 });
    outside.broken = new Error('The file is not there any more.');
    await library.resume('a');
    const problem = { sentence: 'The file is not there any more.' };
    assert.deepEqual(state('a'), { is: 'failed', done: 40, total: 100, problem });
    outside.broken = undefined;
    await library.resume('a');
    assert.deepEqual(outside.resolved, ['hf:a', 'hf:a']);
    assert.equal(state('a').is, 'queued');
    outside.downloads[0]?.tell({ phase: 'downloading', done: 50 });
    library.pause('a');
    outside.downloads[0]?.tell({ phase: 'paused' });
    assert.deepEqual(state('a'), { is: 'paused', done: 50, total: 100 });
    await library.resume('a');
    assert.deepEqual(outside.downloads[0]?.asked, ['pause', 'resume']);
});

test('when the network is back, what waits for it goes on, and nothing else', async () => {
    const { outside, library, state } = start();
    for (const name of ['a', 'b', 'c']) library.get(model(name));
    const problem = { kind: 'offline' as const, sentence: 'Gone.', detail: '' };
    outside.downloads[0]?.tell({ phase: 'paused', done: 10, problem });
    outside.downloads[1]?.tell({ phase: 'paused', done: 10 });
    outside.downloads[2]?.tell({ phase: 'failed', done: 10, problem: { ...problem, kind: 'full' } });
    assert.deepEqual(state('a'), { is: 'paused', done: 10, total: 100, problem: { sentence: 'Gone.', automatic: true } });
    outside.online();
    assert.deepEqual(outside.downloads.map(({ asked }) => asked), [['pause', 'resume'], [], []]);
});

test('deleted while it comes, nothing is left and nothing is shown', async () => {
    const { outside, library, state } = start();
    library.get(model('a'));
    const [download] = outside.downloads;
    download?.tell({ phase: 'downloading', done: 10 });
    await library.remove('a');
    download?.tell({ phase: 'paused', done: 0 });
    assert.deepEqual(download?.asked, ['cancel']);
    assert.equal(state('a').is, 'offered');
});

test('what was stopped before its first byte is offered again', () => {
    const before: DownloadState = { phase: 'paused', done: 0, total: 5, rate: 0, etaSeconds: undefined, again: false };
    assert.equal(transferOf(before), undefined);
});
