// Firefox, driven over WebDriver BiDi.
import { existsSync } from 'node:fs';
import type { AnyBrowser, Kind, LaunchOptions, Tab } from './tab.js';

const executablePath = process.env['FIREFOX'] ?? '/usr/bin/firefox-esr';
const swiftshader = '/usr/lib/chromium/vk_swiftshader_icd.json';
/** What Firefox reaches a GPU with. */
const vulkan = ['/usr/lib/x86_64-linux-gnu/libvulkan.so.1', '/lib/x86_64-linux-gnu/libvulkan.so.1', '/usr/lib/aarch64-linux-gnu/libvulkan.so.1'];
const patienceMs = 600_000;

async function launch({ gpu = false, profile }: LaunchOptions = {}): Promise<AnyBrowser> {
    const { default: puppeteer } = await import('puppeteer-core');
    const browser = await puppeteer.launch({
        browser: 'firefox',
        executablePath,
        headless: true,
        protocolTimeout: patienceMs,
        ...(profile === undefined ? {} : { userDataDir: profile }),
        env: {
            ...process.env,
            MOZ_CRASHREPORTER_DISABLE: '1',
            ...(gpu ? { VK_ICD_FILENAMES: swiftshader } : {}),
        },
        extraPrefsFirefox: gpu ? { 'dom.webgpu.enabled': true, 'gfx.webgpu.ignore-blocklist': true } : {},
    });
    const complaints: string[] = [];
    return {
        complaints,
        newTab: async (): Promise<Tab> => {
            const page = await browser.newPage();
            page.setDefaultTimeout(patienceMs);
            page.on('pageerror', (error) => complaints.push(String(error)));
            page.on('console', (message) => {
                if (message.type() === 'error') complaints.push(message.text());
            });
            return {
                goto: async (url) => void (await page.goto(url)),
                run: async (code) => JSON.parse(String(await page.evaluate(`Promise.resolve(${code}).then((x) => JSON.stringify(x ?? null))`))),
                close: async () => await page.close(),
            };
        },
        close: async () => await browser.close(),
        kill: async () => {
            const child = browser.process();
            const ended = new Promise((resolve) => child?.once('exit', resolve));
            child?.kill('SIGKILL');
            await ended;
        },
    };
}

/** Why it has no GPU in software here. */
export const gpuIsMissing = !existsSync(swiftshader)
    ? `${swiftshader} is not there (Debian: chromium)`
    : vulkan.some((file) => existsSync(file))
      ? false
      : 'libvulkan.so.1 is not there (Debian: libvulkan1)';

export const firefox: Kind = {
    name: 'Firefox',
    missing: existsSync(executablePath) ? false : `${executablePath} is not there (Debian: firefox-esr)`,
    launch,
};
