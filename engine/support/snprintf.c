// What our JSON library asks of snprintf: numbers in hexadecimal, with at least so many digits. Nothing else in the modules
// prints through it, and the C library's own is 8 KB of WebAssembly.
#include <stdarg.h>
#include <stddef.h>

int snprintf(char* out, size_t room, const char* pattern, ...) {
    va_list args;
    va_start(args, pattern);
    size_t length = 0;
    for (const char* p = pattern; *p != 0; ++p) {
        if (*p != '%') {
            if (length + 1 < room) out[length] = *p;
            ++length;
            continue;
        }
        size_t digits = 1;
        for (++p; *p == '.' || *p == 'h' || (*p >= '0' && *p <= '9'); ++p) {
            if (*p >= '0' && *p <= '9') digits = (size_t)(*p - '0');
        }
        if (*p != 'x' && *p != 'X') __builtin_trap();
        const unsigned value = va_arg(args, unsigned);
        while (digits < 8 && value >> (4 * digits) != 0) ++digits;
        while (digits-- > 0) {
            const unsigned digit = value >> (4 * digits) & 15;
            if (length + 1 < room)
                out[length] = (char)(digit < 10 ? '0' + digit : (*p == 'x' ? 'a' : 'A') + digit - 10);
            ++length;
        }
    }
    va_end(args);
    if (room > 0) out[length < room ? length : room - 1] = 0;
    return (int)length;
}

// Before the C++ library ends a program it says why, through the same printf; ours just end. One of the two is a function of C++.
_Noreturn void abort_message(const char* pattern, ...) {
    (void)pattern;
    __builtin_trap();
}

_Noreturn void verbose_abort(const char* pattern, ...) __asm__("_ZNSt3__222__libcpp_verbose_abortEPKcz");
_Noreturn void verbose_abort(const char* pattern, ...) {
    (void)pattern;
    __builtin_trap();
}
