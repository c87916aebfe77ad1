import { render } from 'preact';
import { App, AppProvider } from './app.js';
import { startRouter } from './router.js';
import { startSettings } from './store/settings.js';
import { notify } from './views/notices.js';
import { Shell } from './views/shell.js';
import './styles/tokens.css';
import './styles/base.css';
import './styles/shell.css';
import './styles/composer.css';
import './styles/chat.css';
import './styles/welcome.css';
import './styles/markdown.css';
import './styles/pages.css';

startSettings();
startRouter();
const app = await App.start();
const root = document.getElementById('app');
if (root) {
    render(
        <AppProvider value={app}>
            <Shell />
        </AppProvider>,
        root,
    );
}
if (import.meta.env.PROD && 'serviceWorker' in navigator) startServiceWorker(navigator.serviceWorker);

function startServiceWorker(workers: ServiceWorkerContainer): void {
    const updating = workers.controller !== null;
    workers.addEventListener('controllerchange', () => {
        // The first one takes over what it has just stored; a later one brings a newer app.
        if (updating) notify('A newer version of Lapidary is here.', { label: 'Reload', run: () => location.reload() });
    });
    workers.register('./sw.js').catch(() => undefined); // without it the app just needs a network
}
