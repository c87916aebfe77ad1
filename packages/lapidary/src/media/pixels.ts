// A picture's pixels as they are stored.

/** As the engine calls them; sixteen bits are little-endian. */
export type PixelLayout = 'rgba8' | 'rgb8' | 'grey8' | 'rgba16' | 'grey16';

export interface Pixels {
    width: number;
    height: number;
    layout: PixelLayout;
    data: Uint8Array;
}
