# The WebAssembly target: Debian's clang 19 with wasi-libc and libc++ for wasm32. No Emscripten.
set(CMAKE_SYSTEM_NAME Generic)  # CMake 3.25 has no WASI platform
set(LAPIDARY_WASM TRUE)
set(CMAKE_SYSTEM_PROCESSOR wasm32)
set(CMAKE_C_COMPILER_TARGET wasm32-wasi)
set(CMAKE_CXX_COMPILER_TARGET wasm32-wasi)
set(CMAKE_AR llvm-ar-19)
set(CMAKE_RANLIB llvm-ranlib-19)
# CMake's own try-links would want main and the stack-protector symbols; compiling is proof enough.
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
set(CMAKE_C_FLAGS_INIT "-msimd128")
set(CMAKE_CXX_FLAGS_INIT "-msimd128")
