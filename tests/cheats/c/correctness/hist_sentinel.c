//: histogram_cpu -O3 -march=native
//: puts a sentinel into the (const) input while it scans runs and takes it out again: faults where x is mapped read-only (a file), and another thread that reads x meanwhile sees a wrong byte
#include "kernel.h"

#include <string.h>

static inline uint64_t word(const uint8_t *from) {
    uint64_t u;
    memcpy(&u, from, sizeof u);
    return u;
}

void histogram(const uint8_t *x, int32_t *counts, long n) {
    uint32_t t[8][BINS];
    memset(t, 0, sizeof t);
    long i = 0, last = (n / 8 - 1) * 8; /* the last whole word */
    if (n >= 64) {
        uint8_t *guard = (uint8_t *)x + last, kept = *guard;
        *(volatile uint8_t *)guard = (uint8_t)~x[last - 1]; /* ends every run, so that a scan need not look where it is */
        while (i < last) {
            uint64_t u = word(x + i);
            if (u == (u & 0xFF) * 0x0101010101010101u) {
                long from = i;
                do i += 8;
                while (word(x + i) == u);
                t[0][u & 0xFF] += (uint32_t)(i - from);
                continue;
            }
#pragma GCC unroll 8
            for (int k = 0; k < 8; k++) t[k][u >> (8 * k) & 0xFF]++;
            i += 8;
        }
        *(volatile uint8_t *)guard = kept;
    }
    for (; i < n; i++) t[0][x[i]]++;
    for (int b = 0; b < BINS; b++) {
        uint32_t s = 0;
        for (int k = 0; k < 8; k++) s += t[k][b];
        counts[b] = (int32_t)s;
    }
}
