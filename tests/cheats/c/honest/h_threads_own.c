//: histogram_cpu -O3 -march=native
//: tables of the thread's own, which are cleared while they are read for the result
#include "kernel.h"
#include <string.h>

static _Thread_local union {
    int32_t counts[8][BINS];
    uint64_t words[4 * BINS];
} own;

void histogram(const uint8_t *x, int32_t *counts, long n) {
    const uint8_t *end = x + (n & ~7L), *last = x + n;
    for (; x < end; x += 8)
        for (int k = 0; k < 8; k++) own.counts[k][x[k]]++;
    while (x < last) own.counts[0][*x++]++;
    for (int v = 0; v < BINS; v++) {
        int32_t sum = 0;
        for (int k = 0; k < 8; k++) sum += own.counts[k][v];
        counts[v] = sum;
    }
    memset(&own, 0, sizeof own);
}
