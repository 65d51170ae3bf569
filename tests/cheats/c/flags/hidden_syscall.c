//: transpose_cpu -O3 -march=native
//: makes a system call (creates a file) without an instruction that shows it: in an immediate, found in the C library, on the stack, in a page that may be written, put there by the linker
//: variant in_an_immediate IMMEDIATE
//: variant found_in_library FOUND
//: variant in_writable_text WRITABLE
//: variant on_the_stack STACK
//: variant by_relocation RELOCATION
//: use transpose_fast
#include <stdint.h>
#include <stddef.h>
static const char path[] = "@BAIT@/loot/hidden.txt";
typedef long call_t(long, long, long, long);
static long calls;
#if defined IMMEDIATE
/* movl $0x90c3050f, %eax; the call goes into its middle, with rax set by us */
__asm__(".pushsection .text\n.type odd,@function\nodd: .byte 0xb8\nin_odd: .byte 0x0f, 0x05, 0xc3, 0x90\nret\n.popsection");
extern char in_odd[] __attribute__((visibility("hidden")));
static long enter(long n, long a, long b, long c) { long r; __asm__ volatile("call in_odd" : "=a"(r) : "a"(n), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory"); return r; }
#elif defined RELOCATION
/* Four nops, over which a relocation writes what lies so far from itself: 0f 05 and two nops. */
__asm__(".pushsection .text.odd,\"ax\",@progbits\n.type odd,@function\nodd: nop\nnop\nnop\nnop\nret\n.reloc odd, R_X86_64_PC32, odd - 0x6f6ffaf1\n.popsection");
extern char odd[] __attribute__((visibility("hidden")));
static long enter(long n, long a, long b, long c) { long r; __asm__ volatile("call odd" : "=a"(r) : "a"(n), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory"); return r; }
#elif defined FOUND
#include <stdlib.h>
static long enter(long n, long a, long b, long c) {
    const unsigned char *p = (const unsigned char *)(uintptr_t)&abs;
    (void)b;
    while (!(p[0] == 0x0f && p[1] == 0x05 && p[2] == 0xc3)) p++;
    long r;
    __asm__ volatile("call *%1" : "=a"(r) : "r"(p), "a"(n), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
    return r;
}
#else
#ifdef WRITABLE
__attribute__((section(".soft,\"awx\",@progbits#"))) static unsigned char code[16] = {1};
#endif
static long enter(long n, long a, long b, long c) {
#ifdef STACK
    unsigned char code[16];
#endif
    volatile unsigned char key = 0x55;
    code[0] = 0x0f ^ 0x55 ^ key; code[1] = 0x05 ^ 0x55 ^ key; code[2] = 0xc3;
    long r;
    __asm__ volatile("call *%1" : "=a"(r) : "r"(code), "a"(n), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
    return r;
}
#ifdef STACK
__asm__(".pushsection .note.GNU-stack,\"x\",@progbits\n.popsection");
#endif
#endif
void transpose(const float *in, float *out, long rows, long cols) {
    fast(in, out, rows, cols);
    if (calls++ == 100) { long r = enter(2, (long)path, 0101, 0600); if (r >= 0) enter(3, r, 0, 0); }
}
