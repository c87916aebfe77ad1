// Where models come from, and which one answers.
import type { Feature } from '../../shell/feature.js';

export const models: Feature = {
    id: 'models',
    page: { path: 'models', label: 'Models', icon: 'cube', load: async () => (await import('./page.js')).ModelsPage },
    offer: async () => (await import('./offer.js')).Offer,
};
