// Addresses after the '#': the server knows one page, and so does the offline cache.
import { decoded } from './decoded.js';
import { Observable } from './store/observable.js';

export const pages = ['models', 'finetune', 'bench', 'diagnostics', 'settings'] as const;
export type Page = (typeof pages)[number];

export type Route = { page: 'chat'; conversation?: string } | { page: Page };

export function parseRoute(hash: string): Route {
    const [first = '', second = ''] = hash.replace(/^#\/?/, '').split('/');
    const page = pages.find((name) => name === first);
    if (page) return { page };
    const conversation = first === 'c' ? decoded(second) : '';
    return conversation === '' ? { page: 'chat' } : { page: 'chat', conversation };
}

export function hrefOf(route: Route): string {
    if (route.page !== 'chat') return `#/${route.page}`;
    return route.conversation === undefined ? '#/' : `#/c/${encodeURIComponent(route.conversation)}`;
}

export const route = new Observable<Route>({ page: 'chat' });

export function startRouter(): void {
    const read = () => route.set(parseRoute(location.hash));
    addEventListener('hashchange', read);
    addEventListener('popstate', read);
    // A link is followed at once: of what it does by itself the page hears later than of what is typed behind the click.
    addEventListener('click', (event) => {
        const to = linkOf(event);
        if (!to) return;
        event.preventDefault();
        navigate(to);
    });
    read();
}

/** Where a click leads, if it is on a link within the page and nobody has taken care of it. */
export function linkOf(event: MouseEvent): Route | undefined {
    const link = (event.target as Element).closest('a[href^="#/"]');
    const elsewhere = event.ctrlKey || event.metaKey || event.shiftKey || event.altKey; // in another tab, or kept
    return link && !elsewhere && !event.defaultPrevented ? parseRoute(link.getAttribute('href') ?? '') : undefined;
}

export function navigate(to: Route, replace = false): void {
    const href = hrefOf(to);
    if (replace) history.replaceState(null, '', href);
    else if (location.hash !== href) history.pushState(null, '', href);
    route.set(parseRoute(location.hash));
}
