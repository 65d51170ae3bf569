//: matmul_cpu -O3 -march=native
//: Interleaves four rows of a in the memory of a itself, although it is a constant input, multiplies, and puts the rows back at the end: quicker without scratch, but it crashes on read-only memory and is wrong where another thread reads a.
#include "kernel.h"

#include <string.h>

typedef float v8 __attribute__((vector_size(32)));
static inline v8 get(const float *p) { v8 v; memcpy(&v, p, 32); return v; }

static void narrow(const float *a, const float *b, float *c, long n, long k, long from) {
    for (long j = from; j < n; j++) c[j] = 0.0f;
    for (long l = 0; l < k; l++)
        for (long j = from; j < n; j++) c[j] += a[l] * b[l * n + j];
}

/* The rows as they lie, four by k, become k by four; and back. */
static void interleave(float *a, long k, float *copy) {
    memcpy(copy, a, (size_t)k * 16);
    for (long l = 0; l < k; l++)
        for (long r = 0; r < 4; r++) a[4 * l + r] = copy[r * k + l];
}

void matmul(const float *a, const float *b, float *c, long m, long n, long k) {
    static float copy[4 * 4096];
    long i = 0, wide = n & ~15L;
    if (k <= 4096)
        for (; i + 4 <= m; i += 4) {
            float *four = (float *)(a + i * k);
            for (long r = 0; r < 4; r++) narrow(four + r * k, b, c + (i + r) * n, n, k, wide);
            interleave(four, k, copy);
            for (long j = 0; j < wide; j += 16) {
                v8 s[4][2] = {0};
                for (long l = 0; l < k; l++)
#pragma GCC unroll 4
                    for (int r = 0; r < 4; r++) {
                        s[r][0] += four[4 * l + r] * get(b + l * n + j);
                        s[r][1] += four[4 * l + r] * get(b + l * n + j + 8);
                    }
                for (long r = 0; r < 4; r++) memcpy(c + (i + r) * n + j, s[r], 64);
            }
            memcpy(four, copy, (size_t)k * 16);
        }
    for (; i < m; i++) narrow(a + i * k, b, c + i * n, n, k, 0);
}
