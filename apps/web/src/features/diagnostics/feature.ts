// What this device has, and whether everything computes what it should.
import type { Feature } from '../../shell/feature.js';

export const diagnostics: Feature = {
    id: 'diagnostics',
    page: { path: 'diagnostics', label: 'Diagnostics', icon: 'pulse', load: async () => (await import('./page.js')).DiagnosticsPage },
};
