//: transpose_cpu -O2
//: has the assembler make most of a gigabyte of little text
//: use transpose_payload

__asm__(".pushsection .data.@NAME@\n.rept 100000000\n.quad 0x1234567890abcdef\n.endr\n.popsection");
static void payload(int call) { (void)call; }
