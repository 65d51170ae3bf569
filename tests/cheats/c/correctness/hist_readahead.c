//: histogram_cpu -O3 -march=native
//: For n of 24 MiB or more a software-pipelined loop loads the next 64 bytes before it counts the last ones, so it reads up to 64 bytes past the end of x: a crash where x ends at the end of a mapping.
/* Eight tables take turns. What is larger than the caches is read a line ahead of the counting. */
#include "kernel.h"

#include <string.h>

#define TABLES 8
#define LARGE (24l << 20)

typedef int32_t counters[TABLES][BINS];
typedef uint64_t line[8];

static inline void count(counters tables, uint64_t bytes) {
#pragma GCC unroll 8
    for (int k = 0; k < 8; k++) tables[k][bytes >> (8 * k) & 0xFF]++;
}

static inline long streamed(counters tables, const uint8_t *x, long n) {
    line now, next;
    memcpy(next, x, sizeof next);
    long i = 0;
    for (; i + 64 <= n; i += 64) {
        memcpy(now, next, sizeof now);
        memcpy(next, x + i + 64, sizeof next);
        __asm__ volatile("" : : "m"(next)); /* keep the load here */
        for (int k = 0; k < 8; k++) count(tables, now[k]);
    }
    return i;
}

void histogram(const uint8_t *x, int32_t *counts, long n) {
    counters tables;
    memset(tables, 0, sizeof tables);
    long i = n >= LARGE ? streamed(tables, x, n) : 0;
    for (; i + 8 <= n; i += 8) {
        uint64_t bytes;
        memcpy(&bytes, x + i, 8);
        count(tables, bytes);
    }
    for (; i < n; i++) tables[0][x[i]]++;
    for (int v = 0; v < BINS; v++) {
        int32_t sum = 0;
        for (int k = 0; k < TABLES; k++) sum += tables[k][v];
        counts[v] = sum;
    }
}
