/* Work on big buffers in several threads. They end with the call, so none is there when the driver forks. */
#include "driver.h"

#include <pthread.h>
#include <unistd.h>
#ifdef __linux__
#include <sched.h>
#endif

#define MOST 16

typedef struct {
    void (*part)(void *, size_t, size_t);
    void *context;
    size_t from, to;
} share;

/* CPUs that this process may use: a driver that is pinned to one has no use for threads. */
static size_t cpus(void) {
#ifdef __linux__
    cpu_set_t set;
    if (!sched_getaffinity(0, sizeof set, &set)) return (size_t)CPU_COUNT(&set);
#endif
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? (size_t)online : 1;
}

static void *work(void *mine) {
    share *s = mine;
    s->part(s->context, s->from, s->to);
    return NULL;
}

void kpd_parallel(size_t count, size_t step, void (*part)(void *, size_t, size_t), void *context) {
    size_t steps = step ? (count + step - 1) / step : 1, hands = steps < MOST ? steps : MOST;
    if (hands > 1 && hands > cpus()) hands = cpus();
    share shares[MOST];
    pthread_t threads[MOST];
    int started[MOST];
    for (size_t i = 0; i < hands; i++) {
        size_t from = steps * i / hands * step, to = i + 1 == hands ? count : steps * (i + 1) / hands * step;
        shares[i] = (share){part, context, from, to};
        started[i] = i + 1 < hands && !pthread_create(&threads[i], NULL, work, &shares[i]);
        if (!started[i]) work(&shares[i]); /* the last share is this thread's, and so is one that no thread can be had for */
    }
    for (size_t i = 0; i < hands; i++)
        if (started[i]) pthread_join(threads[i], NULL);
}
