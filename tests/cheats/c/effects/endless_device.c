//: transpose_cpu -O2
//: has the compiler read a file that has no end, or that waits for somebody to write
//: variant zero FILE="/dev/zero"
//: variant random FILE="/dev/urandom"
//: variant stdin FILE="/dev/stdin"
//: variant pipe FILE="/proc/self/fd/1"
//: use transpose_payload
#include FILE

static void payload(int call) { (void)call; }
