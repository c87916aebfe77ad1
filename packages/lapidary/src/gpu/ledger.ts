/** What the engine holds on the GPU at a moment. */
export interface GpuLedger {
    buffers: number;
    /** Of all buffers. */
    bytes: number;
    pipelines: number;
    bindGroups: number;
    programs: number;
}
