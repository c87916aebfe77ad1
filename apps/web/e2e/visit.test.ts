// One visit, step by step, and everything that is stored after it, to the letter but for names and times:
// tests/data/golden/visit.json. LAPIDARY_GOLDEN=write writes it anew; a commit that changes something in it says why.
import assert from 'node:assert/strict';
import { promises as fs } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { openApp } from './app.js';
import { Visitor, changeSettings } from './browser.js';
import { repository } from './site.js';

const app = openApp({ gpu: false });
const golden = path.join(repository, 'tests/data/golden/visit.json');

interface Stored {
    conversations: { id: string; createdAt: number; title: string }[];
    messages: { id: string; createdAt: number; status: string }[];
    settings: unknown;
    drafts: string[];
}

/** Undefined while something is still being written. */
async function stored(count: number): Promise<Stored | undefined> {
    const asked = indexedDB.open('lapidary');
    const open = await new Promise<IDBDatabase>((resolve) => (asked.onsuccess = () => resolve(asked.result)));
    const all = async (name: string) => {
        const reading = open.transaction(name).objectStore(name).getAll();
        return await new Promise<never[]>((resolve) => (reading.onsuccess = () => resolve(reading.result as never)));
    };
    const [conversations, messages]: [Stored['conversations'], Stored['messages']] = [await all('conversations'), await all('messages')];
    open.close();
    if (messages.length < count || messages.some(({ status }) => status === 'streaming')) return undefined;
    const settings: unknown = JSON.parse(localStorage.getItem('lapidary-settings') ?? '{}');
    return { conversations, messages, settings, drafts: Object.keys(localStorage).filter((key) => key.startsWith('lapidary-draft')) };
}

/** In the order in which they were made, and called by it. */
function steady({ conversations, messages, settings, drafts }: Stored, site: string): unknown {
    const inOrder = <Made extends { createdAt: number }>(all: Made[]) => [...all].sort((a, b) => a.createdAt - b.createdAt);
    const [talks, said] = [inOrder(conversations), inOrder(messages)];
    let text = JSON.stringify({ conversations: talks, messages: said, settings, drafts });
    talks.forEach(({ id }, i) => (text = text.replaceAll(id, `conversation ${i + 1}`)));
    said.forEach(({ id }, i) => (text = text.replaceAll(id, `message ${i + 1}`)));
    text = text.replaceAll(site, 'https://site').replace(/"(createdAt|updatedAt|deletedAt|promptMs|completionMs)":[\d.]+/g, '"$1":0');
    return JSON.parse(text);
}

test('a visit leaves on the disk what it has always left', { skip: app.skip }, async () => {
    const left = await app.visit(async (context) => {
        const url = `${app.site.url}/?backend=cpu`;
        const visitor = await Visitor.arrive(context, url);
        const { page } = visitor;
        await visitor.messageBox.waitFor();
        await changeSettings(page, { temperature: 0, seed: 1, maxTokens: 12, system: 'You tell stories.' });
        await page.reload();
        await visitor.say('Tell me a story about a fox');
        await visitor.answer();
        await visitor.say('And then?');
        await visitor.answer(1);
        await page.getByRole('button', { name: 'Answer again' }).last().click();
        await page.getByText('2/2').waitFor();
        await visitor.answer(1);
        // The first question in other words, and back to how it was.
        await page.getByRole('button', { name: 'Edit and ask again' }).first().click();
        await page.getByRole('textbox', { name: 'Edit message' }).fill('Tell me about a **hen**');
        await page.getByRole('button', { name: 'Ask again', exact: true }).click();
        await page.locator('.message.user .said', { hasText: 'hen' }).waitFor();
        await visitor.answer();
        await page.locator('.message.user').getByRole('button', { name: 'Previous version' }).click();
        await page.locator('.message.user .said', { hasText: 'fox' }).waitFor();
        await page.getByRole('button', { name: /^More for/ }).click();
        await page.getByRole('menuitem', { name: 'Rename' }).click();
        await page.getByRole('textbox', { name: 'New title' }).fill('A fox');
        await page.keyboard.press('Enter');
        await page.getByRole('link', { name: 'A fox' }).waitFor();

        // In a second tab, and then deleted.
        const second = await Visitor.arrive(context, url);
        await second.say('# Hello\n\nfrom the second tab');
        await second.answer();
        await second.page.getByRole('button', { name: /^More for Hello/ }).click();
        await second.page.getByRole('menuitem', { name: 'Delete' }).click();
        await second.page.getByRole('button', { name: 'Undo' }).waitFor();
        await second.page.close();

        // From elsewhere, with a call whose result somebody types.
        const call = { index: 0, id: 'call_1', function: { name: 'weather', arguments: '{"city":"Bern"}' } };
        app.site.remoteAnswers = [[{ reasoning_content: 'Look outside.' }, { content: 'Let me see.' }, { tool_calls: [call] }], [{ content: 'It rains.' }]];
        await changeSettings(page, { useEndpoint: true, endpoint: { kind: 'openai', url: app.site.url, key: '', model: 'm' } });
        await page.getByRole('link', { name: 'New chat' }).click();
        await visitor.say('How is the weather?');
        await page.getByRole('textbox', { name: 'Result of weather' }).fill('rain');
        await page.getByRole('button', { name: 'Send the result' }).click();
        await visitor.answer(1);
        await visitor.messageBox.fill('half a question');
        const all = await visitor.until('all that was said on the disk', stored, 13);
        visitor.checkHarmless();
        second.checkHarmless();
        return steady(all, app.site.url);
    });
    if (process.env['LAPIDARY_GOLDEN'] === 'write') {
        await fs.writeFile(golden, `${JSON.stringify(left, null, 1)}\n`);
        return;
    }
    assert.deepEqual(left, JSON.parse(await fs.readFile(golden, 'utf8')));
});
