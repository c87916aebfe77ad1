// Debian's wasm compiler-rt was built with the stack protector on; wasi-libc does not define its symbols.
unsigned long __stack_chk_guard = 0x5a11e7;

_Noreturn void __stack_chk_fail(void) {
    __builtin_trap();
}
