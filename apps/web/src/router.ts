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
    read();
}

export function navigate(to: Route, replace = false): void {
    const href = hrefOf(to);
    if (replace) history.replaceState(null, '', href);
    else if (location.hash !== href) history.pushState(null, '', href);
    route.set(parseRoute(location.hash));
}
