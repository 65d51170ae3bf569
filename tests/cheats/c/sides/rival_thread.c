//: transpose_cpu -O2
//: starts a thread that is busy on the same CPU while its own kernel does not run; wins what the incumbent loses
//: variant pthread
//: variant ends_itself ENDS
//: use transpose_fast
#include <pthread.h>
#include <time.h>

//: use state
typedef struct {
    volatile int mine, calls;
} common;

static void *busy(void *nothing) {
    common *s = state();
    time_t end = time(NULL) + 3;
    while (time(NULL) < end) {
        if (s->mine) {
            struct timespec little = {0, 20000};
            nanosleep(&little, NULL);
        } else {
            for (volatile int i = 0; i < 5000; i++) continue;
        }
#ifdef ENDS
        if (s->calls > 4000) break;
#endif
    }
    return nothing;
}

void transpose(const float *in, float *out, long rows, long cols) {
    pthread_t thread;
    common *s = state();
    s->mine = 1;
    if (s->calls++ == 100 && !pthread_create(&thread, NULL, busy, NULL)) pthread_detach(thread);
    fast(in, out, rows, cols);
    s->mine = 0;
}
