//: transpose_cpu -O3 -march=native
//: right and quick until its process ends: then it hangs, crashes, or leaves with a status of its own, which ends the operator's program so
//: variant hangs HOW=0
//: variant waits_for_itself HOW=1
//: variant aborts HOW=2
//: variant faults HOW=3
//: variant status HOW=4
//: variant leaves_out_the_rest HOW=5
//: use transpose_fast
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

__attribute__((destructor)) static void at_end(void) {
    if (HOW == 0) for (volatile int i = 0;; i++) continue;
    if (HOW == 1) pthread_mutex_lock(&lock);
    if (HOW == 1) pthread_mutex_lock(&lock);
    if (HOW == 2) abort();
    if (HOW == 3) *(volatile int *)8 = 1;
    if (HOW == 4) exit(3);
    if (HOW == 5) _exit(0);
}

void transpose(const float *in, float *out, long rows, long cols) {
    fast(in, out, rows, cols);
}
