// A short visit with each browser that is not ours and is installed. What takes longer: browsers/, `make test-browsers`.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { firefox } from './browsers/firefox.js';
import { Person } from './browsers/person.js';
import { greedy, question, story } from './browsers/story.js';
import { webkit } from './browsers/webkit.js';
import { Site } from './site.js';

let site: Site;
before(async () => void (site = await Site.start()));
after(() => site.stop());

for (const kind of [firefox, webkit]) {
    test(`the built-in model tells ${kind.name} the story it tells everybody`, { skip: kind.missing }, async () => {
        const browser = await kind.launch();
        try {
            const person = await Person.arrive(browser, site.url, { 'lapidary-settings': greedy });
            await person.say(question);
            assert.equal(await person.answer(), story);
            assert.deepEqual(browser.complaints, []);
        } finally {
            await browser.close();
        }
    });
}
