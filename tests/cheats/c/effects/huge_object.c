//: transpose_cpu -O2
//: has an object of a gigabyte, which kpd would copy for each process
//: use transpose_payload

static char huge[1u << 30] = {1};
static void payload(int call) { __asm__ volatile("" : : "r"(huge + call)); }
