/** Whether a CPU pretends to be a GPU. */
export function isSoftware(adapter: GPUAdapter): boolean {
    const { isFallbackAdapter } = adapter as { isFallbackAdapter?: boolean }; // where older browsers told it
    const { architecture, description } = adapter.info;
    return (
        adapter.info.isFallbackAdapter === true ||
        isFallbackAdapter === true ||
        /swiftshader|llvmpipe|softpipe|basic render/i.test(`${architecture} ${description}`)
    );
}
