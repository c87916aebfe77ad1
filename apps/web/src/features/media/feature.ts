// Pictures, sounds and films in messages.
import { settings } from '../../store/settings.js';
import type { Feature, Offered } from '../../shell/feature.js';

/** Who answers from elsewhere says itself what it cannot take. */
const elsewhere = () => settings.value.useEndpoint;
const load = async () => await import('./read.js');
const isPdf = ({ kind, name, type }: Offered) => kind === 'document' && (type === 'application/pdf' || /\.pdf$/i.test(name));
const view = async () => (await import('./view.js')).Media;

export const media: Feature = {
    id: 'media',
    attach: [
        { accepts: ({ kind }, info) => (kind === 'picture' || kind === 'video') && (elsewhere() || info?.vision !== undefined), load },
        { accepts: (file, info) => isPdf(file) && (elsewhere() || info?.vision !== undefined), load: async () => ({ read: (await import('./pdf.js')).readPages }) },
        { accepts: isPdf, load: async () => ({ read: (await import('./pdf.js')).readText }) },
        { accepts: ({ kind }, info) => kind === 'sound' && (elsewhere() || info?.audio !== undefined), load },
    ],
    parts: { image: view, audio: view, video: view },
    rail: {
        shows: (info) => elsewhere() || info?.vision !== undefined || info?.audio !== undefined,
        load: async () => (await import('./rail.js')).MediaRail,
    },
};
