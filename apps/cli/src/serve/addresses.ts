// Which addresses are this computer's own, and which Host headers we believe.
import { isIP } from 'node:net';
import os from 'node:os';

/** The host of a URL or a Host header, without port, in lower case and without the dot of the root. */
export function hostnameOf(host: string): string | undefined {
    // Only what a browser could have sent; URL would also take user names and paths.
    if (!/^(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+)(:\d{1,5})?$/.test(host)) return undefined;
    try {
        return new URL(`http://${host}`).hostname.replace(/\.$/, '');
    } catch {
        return undefined;
    }
}

/** An address or a name that never leaves this computer. IPv6 with or without brackets. */
export function isLoopback(host: string): boolean {
    const name = host.replace(/^\[(.*)\]$/, '$1').toLowerCase();
    if (name === 'localhost' || name.endsWith('.localhost') || name === '::1') return true;
    const mapped = name.replace(/^::ffff:(?=[\d.]+$)/, '');
    return isIP(mapped) === 4 && mapped.startsWith('127.');
}

/**
 * A page of another site can make its own name point at this computer and then read our answers as if they were its own
 * (DNS rebinding). Its requests still carry that name. So on a loopback address only loopback names are believed; on
 * other addresses also plain IP addresses, which nobody can rebind, and this computer's names.
 */
export function hostCheck(
    listening: string,
    alsoAllowed: readonly string[] = [],
): (host: string | undefined) => boolean {
    const names = new Set(alsoAllowed.map((name) => name.toLowerCase()));
    if (!isLoopback(listening)) {
        const own = os.hostname().toLowerCase();
        for (const name of [own, `${own}.local`, listening.toLowerCase()]) names.add(name);
    }
    return (host) => {
        const name = host === undefined ? undefined : hostnameOf(host);
        if (name === undefined) return false;
        if (isLoopback(name) || names.has(name)) return true;
        return !isLoopback(listening) && isIP(name.replace(/^\[(.*)\]$/, '$1')) !== 0;
    };
}
