/**
 * WebGPU, as `navigator.gpu` is or what the npm package `webgpu` makes. The program's own type of it, where it has one:
 * it came to TypeScript's library of the DOM with version 6, and before that from the package `@webgpu/types`.
 */
export type WebGpu = typeof globalThis extends { navigator: { gpu: infer Found } }
    ? Found
    : { requestAdapter(options?: object): Promise<unknown> };
