// Small tools for what models are bad at: reckoning, and knowing what time it is.
import type { Feature } from '../../shell/feature.js';

export const everydayTools: Feature = {
    id: 'everyday-tools',
    tools: async () => (await import('./tools.js')).tools,
};
