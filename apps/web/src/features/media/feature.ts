// Pictures, sounds and films in messages.
import { settings } from '../../store/settings.js';
import type { Feature } from '../../shell/feature.js';

/** Who answers from elsewhere says itself what it cannot take. */
const elsewhere = () => settings.value.useEndpoint;
const load = async () => await import('./read.js');
const view = async () => (await import('./view.js')).Media;

export const media: Feature = {
    id: 'media',
    attach: [
        { accepts: ({ kind }, info) => (kind === 'picture' || kind === 'video') && (elsewhere() || info?.vision !== undefined), load },
        { accepts: ({ kind }, info) => kind === 'sound' && (elsewhere() || info?.audio !== undefined), load },
    ],
    parts: { image: view, audio: view, video: view },
    rail: {
        shows: (info) => elsewhere() || info?.vision !== undefined || info?.audio !== undefined,
        load: async () => (await import('./rail.js')).MediaRail,
    },
};
