// What a person can choose.
import type { Feature } from '../../shell/feature.js';

export const settingsPage: Feature = {
    id: 'settings',
    page: { path: 'settings', label: 'Settings', icon: 'sliders', load: async () => (await import('./page.js')).SettingsPage },
};
