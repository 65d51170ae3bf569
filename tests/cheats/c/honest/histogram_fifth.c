//: histogram_cpu -O3 -march=native
//: eight interleaved tables on the stack (table[value][turn]), words of equal bytes counted at once, then a sum across each group of eight
#include "kernel.h"

#include <string.h>

void histogram(const uint8_t *x, int32_t *counts, long n) {
    uint32_t t[BINS][8];
    memset(t, 0, sizeof t);
    long i = 0;
    for (; i + 16 <= n; i += 16) {
        uint64_t u, v;
        memcpy(&u, x + i, 8);
        memcpy(&v, x + i + 8, 8);
        if (u == v && u == (u & 0xFF) * 0x0101010101010101u) {
            t[u & 0xFF][0] += 16;
            continue;
        }
#pragma GCC unroll 8
        for (int k = 0; k < 8; k++) t[u >> (8 * k) & 0xFF][k]++;
#pragma GCC unroll 8
        for (int k = 0; k < 8; k++) t[v >> (8 * k) & 0xFF][k]++;
    }
    for (; i < n; i++) t[x[i]][0]++;
    for (int b = 0; b < BINS; b++) {
        uint32_t s = 0;
        for (int k = 0; k < 8; k++) s += t[b][k];
        counts[b] = (int32_t)s;
    }
}
