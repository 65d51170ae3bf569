//: histogram_cpu -O3 -march=native -funsafe-math-optimizations
//: the code is right, its flags are not: linking with them adds crtfastmath.o (gcc before 13), which sets flush-to-zero in the thread that loads the object: all later arithmetic of the program on denormals gives 0
#include "kernel.h"

#include <string.h>

enum { TABLES = 8 };

/* Each byte of a word has a table of its own. */
static inline void word(uint64_t w, int32_t t[TABLES][BINS]) {
#pragma GCC unroll 8
    for (int k = 0; k < 8; k++) t[k][w >> (8 * k) & 255]++;
}

void histogram(const uint8_t *x, int32_t *counts, long n) {
    int32_t t[TABLES][BINS];
    long i = 0;
    memset(t, 0, sizeof t);
    for (; i + 16 <= n; i += 16) {
        uint64_t a, b;
        memcpy(&a, x + i, 8);
        memcpy(&b, x + i + 8, 8);
        word(a, t);
        word(b, t);
    }
    for (; i < n; i++) t[i & 7][x[i]]++;
    for (int v = 0; v < BINS; v++) {
        int32_t sum = 0;
        for (int k = 0; k < TABLES; k++) sum += t[k][v];
        counts[v] = sum;
    }
}
