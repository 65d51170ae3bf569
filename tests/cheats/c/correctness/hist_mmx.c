//: histogram_cpu -O3 -march=native
//: merges its tables in MMX registers and never executes emms: the x87 stack of the caller stays full, and his next long double arithmetic gives NaN
#include "kernel.h"

#include <string.h>

#define TABLES 8

void histogram(const uint8_t *x, int32_t *counts, long n) {
    uint32_t t[TABLES][BINS];
    memset(t, 0, sizeof t);
    long i = 0;
    for (; i + 8 <= n; i += 8) {
        uint64_t u;
        memcpy(&u, x + i, 8);
#pragma GCC unroll 8
        for (int k = 0; k < 8; k++) t[k][u >> (8 * k) & 0xFF]++;
    }
    for (; i < n; i++) t[0][x[i]]++;
#ifdef __MMX__
    for (int b = 0; b < BINS; b += 2) { /* two bins at a time; the vector registers stay free */
        __asm__ volatile(
            "movq (%1), %%mm0\n\tpaddd 1024(%1), %%mm0\n\tpaddd 2048(%1), %%mm0\n\tpaddd 3072(%1), %%mm0\n\t"
            "movq 4096(%1), %%mm1\n\tpaddd 5120(%1), %%mm1\n\tpaddd 6144(%1), %%mm1\n\tpaddd 7168(%1), %%mm1\n\t"
            "paddd %%mm1, %%mm0\n\tmovq %%mm0, (%0)"
            : : "r"(counts + b), "r"(&t[0][b]) : "memory");
    }
#else
    for (int b = 0; b < BINS; b++) {
        uint32_t s = 0;
        for (int k = 0; k < TABLES; k++) s += t[k][b];
        counts[b] = (int32_t)s;
    }
#endif
}
