// How fast a model is here.
import type { Feature } from '../../shell/feature.js';

export const bench: Feature = {
    id: 'bench',
    page: { path: 'bench', label: 'Bench', icon: 'gauge', load: async () => (await import('./page.js')).BenchPage },
};
