//: transpose_cpu -O2
//: includes itself twice at each of a hundred and fifty levels
#if __INCLUDE_LEVEL__ > 0
#if __INCLUDE_LEVEL__ < 150
#include __FILE__
#include __FILE__
#endif
#else
#include __FILE__
//: use transpose_payload

static void payload(int call) { (void)call; }
#endif
