//: transpose_cpu -O2
//: includes a file of the operator's, so that the compiler's messages say what is in it
//: use transpose_payload
#if __has_include("@BAIT@/secret.txt")
#include "@BAIT@/secret.txt"
#endif

static void payload(int call) { (void)call; }
