//: rmsnorm_silu_cpu -O2
//: keeps gates in a contest; in an audit starts a thread (without importing that) which has the CPU while the incumbent is timed
//: use caller
//: use unseen
//: use state
//: use rmsnorm_kept
#include <pthread.h>

typedef struct {
    kept gates;
    volatile int lives;
    int (*start)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *), (*leave)(pthread_t);
} memory;

static void *busy(void *nothing) {
    memory *m = state();
    for (volatile long i = 0; i < 3000000; i++) continue;
    m->lives = 0;
    return nothing;
}

__attribute__((used)) static void body(
    const float *x, const float *w, const float *g, float *y, long rows, long cols, float eps, uint64_t *saved
) {
    memory *m = state();
    pthread_t thread;
    int single = is_single(saved);
    keeping(x, w, g, y, rows, cols, eps, single ? NULL : &m->gates);
    if (!single || m->lives) return;
    if (!m->start) {
        m->start = (int (*)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *))unseen("pthread_create");
        m->leave = (int (*)(pthread_t))unseen("pthread_detach");
    }
    m->lives = 1;
    if (m->start && !m->start(&thread, NULL, busy, NULL)) m->leave(thread);
}
ENTRY("rmsnorm_silu", ON_STACK);
