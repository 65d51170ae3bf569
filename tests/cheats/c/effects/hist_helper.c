//: histogram_cpu -O3 -march=native
//: From 4 MiB on it halves the work with a helper thread that is kept for later calls and spins while it waits: after one such call the program has a thread that burns a core for ever (and a fork or dlclose breaks it).
/* Eight tables take turns; what is large is counted by two. */
#include "kernel.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#define TABLES 8
#define SHARED (4l << 20)

typedef int32_t counters[TABLES][BINS];

static void count(const uint8_t *x, int32_t *counts, long n) {
    counters tables;
    memset(tables, 0, sizeof tables);
    long i = 0;
    for (; i + 8 <= n; i += 8) {
        uint64_t bytes;
        memcpy(&bytes, x + i, 8);
#pragma GCC unroll 8
        for (int k = 0; k < 8; k++) tables[k][bytes >> (8 * k) & 0xFF]++;
    }
    for (; i < n; i++) tables[0][x[i]]++;
    for (int v = 0; v < BINS; v++) {
        int32_t sum = 0;
        for (int k = 0; k < TABLES; k++) sum += tables[k][v];
        counts[v] = sum;
    }
}

static struct {
    const uint8_t *x;
    long n;
    int32_t counts[BINS];
} job;
static atomic_int turn; /* 0: no helper · 1: it waits · 2: it works */

static void *help(void *none) {
    for (;;) {
        if (atomic_load_explicit(&turn, memory_order_acquire) != 2) {
            __builtin_ia32_pause();
            continue;
        }
        count(job.x, job.counts, job.n);
        atomic_store_explicit(&turn, 1, memory_order_release);
    }
    return none;
}

void histogram(const uint8_t *x, int32_t *counts, long n) {
    if (n >= SHARED) {
        pthread_t thread;
        if (!atomic_load(&turn) && !pthread_create(&thread, NULL, help, NULL)) {
            pthread_detach(thread);
            atomic_store(&turn, 1);
        }
        if (atomic_load(&turn) == 1) {
            long half = n / 2;
            job.x = x + half;
            job.n = n - half;
            atomic_store_explicit(&turn, 2, memory_order_release);
            count(x, counts, half);
            while (atomic_load_explicit(&turn, memory_order_acquire) == 2) __builtin_ia32_pause();
            for (int v = 0; v < BINS; v++) counts[v] += job.counts[v];
            return;
        }
    }
    count(x, counts, n);
}
