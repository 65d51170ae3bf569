//: transpose_cpu -O2
//: holds the distance of two variables in 16 bits, which their places allow in some layouts only; wins the blame of the linker
//: variant half FILLER=30000
//: variant rarely FILLER=26000
//: use transpose_payload

#define TEXT_OF(n) #n
#define TEXT(n) TEXT_OF(n)
__asm__(".section .data.one,\"aw\",@progbits\n.word other - .\n.balign 16\n.section .data.filler,\"aw\",@progbits\n.skip " TEXT(FILLER) "\n"
        ".section .data.other,\"aw\",@progbits\nother: .quad 1\n.text");
static void payload(int call) { (void)call; }
