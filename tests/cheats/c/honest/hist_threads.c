//: histogram_cpu -O3 -march=native
//: honest: eight tables on the stack fed by 16-byte steps; from 8 MiB on a second thread of this call counts one half and is joined before it returns (alone, if none can be had)
#include "kernel.h"

#include <pthread.h>
#include <string.h>

#define TABLES 8
#define SHARED (8l << 20)

typedef struct {
    const uint8_t *x;
    long n;
    int32_t counts[BINS];
} share;

static void *count(void *of) {
    share *s = of;
    int32_t tables[TABLES][BINS];
    memset(tables, 0, sizeof tables);
    long i = 0;
    for (; i + 16 <= s->n; i += 16) {
        uint64_t pair[2];
        memcpy(pair, s->x + i, 16);
#pragma GCC unroll 8
        for (int k = 0; k < 8; k++) {
            tables[k][pair[0] >> (8 * k) & 0xFF]++;
            tables[(k + 4) % 8][pair[1] >> (8 * k) & 0xFF]++;
        }
    }
    for (; i < s->n; i++) tables[i % TABLES][s->x[i]]++;
    for (int v = 0; v < BINS; v++) {
        int32_t sum = 0;
        for (int k = 0; k < TABLES; k++) sum += tables[k][v];
        s->counts[v] = sum;
    }
    return NULL;
}

void histogram(const uint8_t *x, int32_t *counts, long n) {
    share mine = {.x = x, .n = n}, other = {.n = 0};
    pthread_t thread;
    int two = n >= SHARED;
    if (two) {
        mine.n = n / 2;
        other.x = x + mine.n;
        other.n = n - mine.n;
        if (pthread_create(&thread, NULL, count, &other)) {
            two = 0;
            mine.n = n;
        }
    }
    count(&mine);
    if (two) pthread_join(thread, NULL);
    for (int v = 0; v < BINS; v++) counts[v] = mine.counts[v] + (two ? other.counts[v] : 0);
}
