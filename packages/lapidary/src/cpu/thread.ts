// A thread that helps the CPU's kernels: an instance of the same module over the same memory.
import type { ThreadStart } from './kernels.js';

interface Helper {
    help(): number;
    fail(): void;
    __stack_pointer: WebAssembly.Global<'i32'>;
}

export async function becomeThread({ module, memory, stack }: ThreadStart, ready: () => void): Promise<void> {
    const helper = (await WebAssembly.instantiate(module, { env: { memory } })).exports as unknown as Helper;
    helper.__stack_pointer.value = stack;
    ready();
    try {
        // The loop is here and not in the module: code that never returns is never replaced by optimised code.
        while (helper.help() !== 0);
    } catch (error) {
        helper.fail();
        throw error;
    }
}
