// Teaching a model something.
import type { Feature } from '../../shell/feature.js';

export const fineTune: Feature = {
    id: 'finetune',
    page: { path: 'finetune', label: 'Fine-tune', icon: 'flask', load: async () => (await import('./page.js')).FinetunePage },
    settings: async () => (await import('./adapters-card.js')).AdapterList,
};
