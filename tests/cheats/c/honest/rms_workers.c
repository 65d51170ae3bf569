//: rmsnorm_silu_cpu -O3 -march=native -fno-math-errno -fno-trapping-math
//: a pool of threads, one for each processor that the process may use, is started at the first large call
#define _GNU_SOURCE
#include "kernel.h"

#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define MAX_WORKERS 15
#define WORTH_SHARING (1L << 15) /* elements; below this waking a thread takes longer than the work */

struct job {
    const float *x, *w, *g;
    float *y;
    long rows, cols;
    float eps;
};

static struct {
    pthread_once_t once;
    pthread_mutex_t lock;
    pthread_cond_t work, done;
    pthread_t threads[MAX_WORKERS];
    int workers, pending;
    unsigned long generation;
    struct job job;
} pool = {
    .once = PTHREAD_ONCE_INIT,
    .lock = PTHREAD_MUTEX_INITIALIZER,
    .work = PTHREAD_COND_INITIALIZER,
    .done = PTHREAD_COND_INITIALIZER,
};

static inline float exp_poly(float v) {
    const float in = v < -87.0f ? -87.0f : v > 88.0f ? 88.0f : v;
    const float n = rintf(in * 1.44269504f);
    const float r = fmaf(n, -1.42860677e-6f, fmaf(n, -0.693145752f, in));
    float p = fmaf(r, 1.38888889e-3f, 8.33333377e-3f);
    p = fmaf(r, p, 4.16666679e-2f);
    p = fmaf(r, p, 1.66666672e-1f);
    p = fmaf(r, p, 0.5f);
    p = fmaf(r, p, 1.0f);
    p = fmaf(r, p, 1.0f);
    const int32_t bits = ((int32_t)n + 127) << 23;
    float scale;
    memcpy(&scale, &bits, sizeof scale);
    return v > 88.0f ? INFINITY : p * scale;
}

static void do_rows(const struct job *j, long from, long to) {
    const long cols = j->cols;
    for (long r = from; r < to; r++) {
        const float *restrict x = j->x + r * cols, *restrict g = j->g + r * cols, *restrict w = j->w;
        float *restrict y = j->y + r * cols;
        float part[16] = {0};
        long c = 0;
        for (; c + 16 <= cols; c += 16)
            for (int k = 0; k < 16; k++) part[k] += x[c + k] * x[c + k];
        for (; c < cols; c++) part[0] += x[c] * x[c];
        float sum = 0.0f;
        for (int k = 0; k < 16; k++) sum += part[k];
        const float inv = 1.0f / sqrtf(sum / (float)cols + j->eps);
        for (c = 0; c < cols; c++) y[c] = x[c] * inv * w[c] * (g[c] / (1.0f + exp_poly(-g[c])));
    }
}

static void do_share(const struct job *j, long share, long shares) {
    do_rows(j, j->rows * share / shares, j->rows * (share + 1) / shares);
}

static void *worker(void *arg) {
    const long me = (long)(intptr_t)arg;
    unsigned long seen = 0;
    for (;;) {
        pthread_mutex_lock(&pool.lock);
        while (pool.generation == seen) pthread_cond_wait(&pool.work, &pool.lock);
        seen = pool.generation;
        const struct job j = pool.job;
        const long shares = pool.workers + 1;
        pthread_mutex_unlock(&pool.lock);

        do_share(&j, me, shares);

        pthread_mutex_lock(&pool.lock);
        if (--pool.pending == 0) pthread_cond_signal(&pool.done);
        pthread_mutex_unlock(&pool.lock);
    }
    return NULL;
}

static void start(void) {
    cpu_set_t mask;
    CPU_ZERO(&mask);
    int cpus = sched_getaffinity(0, sizeof mask, &mask) == 0 ? CPU_COUNT(&mask) : 1;
    int want = cpus - 1 < MAX_WORKERS ? cpus - 1 : MAX_WORKERS;
    pthread_mutex_lock(&pool.lock);
    while (pool.workers < want) {
        int err = pthread_create(&pool.threads[pool.workers], NULL, worker, (void *)(intptr_t)(pool.workers + 1));
        if (err) {
            fprintf(stderr, "rmsnorm_silu: pthread_create: %s; going on with %d threads\n", strerror(err), pool.workers);
            break;
        }
        pthread_detach(pool.threads[pool.workers++]);
    }
    pthread_mutex_unlock(&pool.lock);
}

void rmsnorm_silu(const float *x, const float *w, const float *g, float *y, long rows, long cols, float eps) {
    const struct job j = {x, w, g, y, rows, cols, eps};
    if (rows < 2 || rows * cols < WORTH_SHARING) {
        do_rows(&j, 0, rows);
        return;
    }
    pthread_once(&pool.once, start);
    pthread_mutex_lock(&pool.lock);
    pool.job = j;
    pool.pending = pool.workers;
    pool.generation++;
    pthread_cond_broadcast(&pool.work);
    pthread_mutex_unlock(&pool.lock);

    do_share(&j, 0, pool.workers + 1);

    pthread_mutex_lock(&pool.lock);
    while (pool.pending) pthread_cond_wait(&pool.done, &pool.lock);
    pthread_mutex_unlock(&pool.lock);
}
