import assert from 'node:assert/strict';
import { test } from 'node:test';
import { thisComputer, whyNoGpuAt, type Computer } from './presence.js';

const bare: Computer = { platform: 'linux', env: {}, list: () => [], hasLibrary: () => true };
const folders = (there: Record<string, string[]>) => (folder: string) => there[folder] ?? [];

test('without a device and without a driver there is no GPU', () => {
    assert.match(whyNoGpuAt(bare) ?? '', /no GPU here/);
    assert.match(whyNoGpuAt({ ...bare, hasLibrary: () => false }) ?? '', /no Vulkan .*libvulkan1/);
});

test('whatever may be a GPU is left to Dawn to judge', () => {
    const there: Partial<Computer>[] = [
        { platform: 'darwin', hasLibrary: () => false },
        { platform: 'win32', hasLibrary: () => false },
        { env: { VK_ICD_FILENAMES: '/mine.json' } },
        { list: folders({ '/dev': ['null', 'nvidia0'] }) },
        { list: folders({ '/dev': ['dxg'] }) },
        { list: folders({ '/dev/dri': ['card0', 'renderD128'] }) },
        { list: folders({ '/usr/share/vulkan/icd.d': ['lvp_icd.json'] }) },
        { env: { HOME: '/home/me' }, list: folders({ '/home/me/.local/share/vulkan/icd.d': ['x.json'] }) },
        { env: { XDG_DATA_DIRS: '/a:/b' }, list: folders({ '/b/vulkan/icd.d': ['x.json'] }) },
    ];
    for (const one of there) assert.equal(whyNoGpuAt({ ...bare, ...one }), undefined, JSON.stringify(one));
});

test('a library is asked for without harm', { skip: process.platform !== 'linux' && 'only Linux is asked' }, () => {
    assert.equal(thisComputer.hasLibrary('libc.so.6'), true);
    assert.equal(thisComputer.hasLibrary('liblapidary-is-not-here.so.9'), false);
});
