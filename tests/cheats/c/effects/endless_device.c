//: transpose_cpu -O2
//: has the compiler read a file that has no end
//: variant zero FILE="/dev/zero"
//: variant random FILE="/dev/urandom"
//: use transpose_payload
#include FILE

static void payload(int call) { (void)call; }
