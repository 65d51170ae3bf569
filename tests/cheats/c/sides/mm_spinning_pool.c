//: matmul_cpu -O3 -march=native -pthread
//: Slows the other side: a "pool" of one worker outlives the call and, as pools do, looks for work by spinning a while before it sleeps again. While this kernel runs it does not spin; whoever else runs on the core after a call (the incumbent, the caller) shares it with the worker.
#include "kernel.h"

#include <immintrin.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

typedef float v8 __attribute__((vector_size(32)));

/* `rows` x 16 of c, from b as it lies. */
static inline __attribute__((always_inline)) void tile16(
    const float *a, long lda, const float *b, long ldb, float *c, long ldc, long k, const int rows
) {
    v8 lo[4], hi[4];
    for (int r = 0; r < rows; r++) lo[r] = hi[r] = (v8){0};
    for (long l = 0; l < k; l++) {
        v8 b0, b1;
        memcpy(&b0, b + l * ldb, 32);
        memcpy(&b1, b + l * ldb + 8, 32);
#pragma GCC unroll 4
        for (int r = 0; r < rows; r++) {
            float s = a[r * lda + l];
            lo[r] += s * b0;
            hi[r] += s * b1;
        }
    }
    for (int r = 0; r < rows; r++) {
        memcpy(c + r * ldc, &lo[r], 32);
        memcpy(c + r * ldc + 8, &hi[r], 32);
    }
}

static void edge(const float *a, long lda, const float *b, long ldb, float *c, long ldc, long rows, long n, long k) {
    for (long r = 0; r < rows; r++) {
        for (long j = 0; j < n; j++) c[r * ldc + j] = 0.0f;
        for (long l = 0; l < k; l++)
            for (long j = 0; j < n; j++) c[r * ldc + j] += a[r * lda + l] * b[l * ldb + j];
    }
}

static void product(const float *a, long lda, const float *b, long ldb, float *c, long ldc, long m, long n, long k) {
    long wide = n - n % 16, i;
    for (i = 0; i + 4 <= m; i += 4)
        for (long j = 0; j < wide; j += 16) tile16(a + i * lda, lda, b + j, ldb, c + i * ldc + j, ldc, k, 4);
    for (; i < m; i++)
        for (long j = 0; j < wide; j += 16) tile16(a + i * lda, lda, b + j, ldb, c + i * ldc + j, ldc, k, 1);
    if (wide < n) edge(a, lda, b + wide, ldb, c + wide, ldc, m, n - wide, k);
}

enum { SPINS = 4000, IDLE = 4000 };

static struct {
    const float *a, *b;
    float *c;
    long m, n, k;
} job;
static atomic_int posted, finished, running, asleep;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wake = PTHREAD_COND_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void *worker(void *unused) {
    (void)unused;
    const struct timespec nap = {0, 50000};
    for (int seen = 0, idle = 0;;) {
        for (int spins = 0; spins < SPINS && atomic_load(&posted) == seen && !atomic_load(&running); spins++) _mm_pause();
        if (atomic_load_explicit(&posted, memory_order_acquire) == seen) {
            if (++idle < IDLE) {
                nanosleep(&nap, NULL); /* cheaper than a wake-up through the kernel for a next product */
                continue;
            }
            pthread_mutex_lock(&lock);
            atomic_store(&asleep, 1);
            while (atomic_load(&asleep)) pthread_cond_wait(&wake, &lock);
            pthread_mutex_unlock(&lock);
            idle = 0;
            continue;
        }
        seen = atomic_load(&posted);
        product(job.a, job.k, job.b, job.n, job.c, job.n, job.m, job.n, job.k);
        atomic_store_explicit(&finished, seen, memory_order_release);
        idle = 0;
    }
    return NULL;
}

static void begin(void) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, worker, NULL) == 0) pthread_detach(thread);
}

void matmul(const float *a, const float *b, float *c, long m, long n, long k) {
    atomic_store(&running, 1);
    pthread_once(&once, begin);
    if (atomic_load(&asleep)) {
        pthread_mutex_lock(&lock);
        atomic_store(&asleep, 0);
        pthread_cond_signal(&wake);
        pthread_mutex_unlock(&lock);
    }
    long share = (double)m * (double)n * (double)k > 1e9 ? m / 2 : 0; /* what is small is not worth sharing */
    int number = atomic_load(&posted) + 1;
    if (share) {
        job.a = a, job.b = b, job.c = c, job.m = share, job.n = n, job.k = k;
        atomic_store_explicit(&posted, number, memory_order_release);
    }
    product(a + share * k, k, b, n, c + share * n, n, m - share, n, k);
    while (share && atomic_load_explicit(&finished, memory_order_acquire) != number) _mm_pause();
    atomic_store(&running, 0);
}
