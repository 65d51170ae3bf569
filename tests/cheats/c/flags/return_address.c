//: transpose_cpu -O2
//: finds the driver's program by the address to which it returns, and changes how it counts
//: use transpose_payload
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

static void payload(int call) {
    if (call != 100) return;
    uintptr_t at = (uintptr_t)__builtin_extract_return_addr(__builtin_return_address(0)) & ~(uintptr_t)4095;
    for (int pages = 0; pages < 64; pages++, at -= 4096)
        if (!memcmp((const void *)at, "\x7f" "ELF", 4)) break;
    mprotect((void *)at, 4096, PROT_READ | PROT_WRITE);
    if (((const char *)at)[0] == 0x7f) ((volatile char *)at)[15] = 'k';
}
