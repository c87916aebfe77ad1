// WebGPU's flags by value: browsers have them as globals (GPUBufferUsage …), Node has not.
export const bufferUsage = {
    mapRead: 0x1,
    copySource: 0x4,
    copyTarget: 0x8,
    storage: 0x80,
    queryResolve: 0x200,
} as const;
export const mapModeRead = 0x1;
export const shaderStageCompute = 0x4;
