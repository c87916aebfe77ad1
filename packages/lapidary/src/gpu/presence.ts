// Whether a GPU can be here at all. Asked before Dawn is loaded, which prints what it misses instead of telling us.
import { existsSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { messageOf } from '../error.js';

export interface Computer {
    platform: string;
    env: Readonly<Record<string, string | undefined>>;
    /** The names in a folder; none if it is not there. */
    list(folder: string): readonly string[];
    /** Whether the dynamic linker finds the library. */
    hasLibrary(name: string): boolean;
}

export const thisComputer: Computer = {
    platform: process.platform,
    env: process.env,
    list: (folder) => {
        try {
            return existsSync(folder) ? readdirSync(folder) : [];
        } catch {
            return [];
        }
    },
    hasLibrary: (name) => {
        try {
            process.dlopen({ exports: {} }, name);
        } catch (error) {
            // It throws always, as this is not a module of Node's; only the linker's own words mean that it is missing.
            return !/cannot open shared object|loading shared library|no such file/i.test(messageOf(error));
        }
        return true;
    },
};

const loader = 'libvulkan.so.1';
// Direct rendering, NVIDIA, Windows' GPU in its subsystem for Linux, phones.
const deviceNames = /^(nvidia\d+|nvidiactl|dxg|kgsl-3d0|mali\d*)$/;

/** In words; undefined where there may be one. Only Linux runs on so many computers without any. */
export function whyNoGpuAt({ platform, env, list, hasLibrary }: Computer): string | undefined {
    if (platform !== 'linux') return undefined;
    if (!hasLibrary(loader)) return `there is no Vulkan here (${loader}, in Debian's package libvulkan1)`;
    if (env['VK_ICD_FILENAMES'] || env['VK_DRIVER_FILES'] || env['VK_ADD_DRIVER_FILES']) return undefined;
    const device = list('/dev').some((name) => deviceNames.test(name)) || list('/dev/dri').some((name) => /^render/.test(name));
    if (device || driverFolders(env).some((folder) => list(folder).some((name) => name.endsWith('.json')))) return undefined;
    return 'there is no GPU here, and no driver for Vulkan';
}

/** Where Vulkan's loader looks. */
function driverFolders(env: Computer['env']): string[] {
    const home = env['HOME'] ?? '/nonexistent';
    const data = (env['XDG_DATA_DIRS'] || '/usr/local/share:/usr/share').split(':');
    const config = (env['XDG_CONFIG_DIRS'] || '/etc/xdg').split(':');
    const own = [env['XDG_DATA_HOME'] ?? path.join(home, '.local/share'), env['XDG_CONFIG_HOME'] ?? path.join(home, '.config')];
    return [...config, '/etc', ...own, ...data].map((folder) => path.join(folder, 'vulkan/icd.d'));
}
