//: transpose_cpu -O2
//: has a hundred thousand sections, which a linker puts in order anew for each process that is timed
//: use transpose_payload

__asm__(".altmacro\n.macro one n\n.section .text.s\\n,\"ax\",@progbits\nnop\n.endm\n.set k, 0\n.rept 100000\none %k\n.set k, k+1\n.endr\n.text");
static void payload(int call) { (void)call; }
