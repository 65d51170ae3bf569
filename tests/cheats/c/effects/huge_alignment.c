//: transpose_cpu -O2
//: asks for variables at multiples of 256 MiB, so that each of its copies takes as much
//: use transpose_payload

static char few[3] __attribute__((aligned(1 << 28))) = {1, 2, 3};
static void payload(int call) { __asm__ volatile("" : : "r"(few + call)); }
