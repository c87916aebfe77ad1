// Files of text in a message: notes, source code, tables.
import type { Feature } from '../../shell/feature.js';

export const textFiles: Feature = {
    id: 'text-files',
    attach: [{ accepts: ({ kind }) => kind === 'text', load: async () => await import('./read.js') }],
    parts: { text: async () => (await import('./view.js')).TextFile },
};
