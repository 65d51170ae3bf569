//: histogram_cpu -O3 -march=native
//: loads of sixteen bytes as one __int128, which two 64-bit halves take apart into tables of a compound literal
#include "kernel.h"

#include <assert.h>
#include <string.h>

typedef unsigned __int128 u128;

enum { TABLES = 8, STEP = sizeof(u128) };
static_assert(STEP == 16, "the tail below counts on sixteen bytes");

#define BYTE(w, k) ((uint8_t)((w) >> (8 * (k))))

static inline __attribute__((always_inline)) void count_half(uint32_t (*restrict t)[BINS], uint64_t w) {
    t[0][BYTE(w, 0)] += 1;
    t[1][BYTE(w, 1)] += 1;
    t[2][BYTE(w, 2)] += 1;
    t[3][BYTE(w, 3)] += 1;
    t[4][BYTE(w, 4)] += 1;
    t[5][BYTE(w, 5)] += 1;
    t[6][BYTE(w, 6)] += 1;
    t[7][BYTE(w, 7)] += 1;
}

__attribute__((hot)) void histogram(const uint8_t *x, int32_t *counts, long n) {
    uint32_t(*t)[BINS] = (uint32_t[TABLES][BINS]){{0}};
    const uint8_t *p = x, *const end = x + n;

    for (; end - p >= STEP; p += STEP) {
        u128 v;
        memcpy(&v, p, sizeof v);
        count_half(t, (uint64_t)v);
        count_half(t, (uint64_t)(v >> 64));
    }
    for (; p != end; ++p) t[(p - x) & (TABLES - 1)][*p] += 1;

    for (int b = 0; b < BINS; b++) {
        uint32_t total = 0;
        for (int k = 0; k < TABLES; k++) total += t[k][b];
        counts[b] = (int32_t)total;
    }
}
