//: matmul_cpu -O3 -march=native
//: k is rounded up to four against zeros of a, but the rows of the packed panel beyond k hold what an earlier call left there: once an infinity or NaN was in some b, later products of finite matrices with k not a multiple of 4 are NaN
#include "kernel.h"

#include <string.h>

typedef float v16 __attribute__((vector_size(64)));
#define W 32
#define DEEP 1024

static __thread float panel[DEEP * W] __attribute__((aligned(64)));

static inline v16 ld(const float *p) {
    v16 v;
    memcpy(&v, p, sizeof v);
    return v;
}

static inline __attribute__((always_inline)) void tile(const float *a, float *c, long n, long k, long depth, long some, int first, const int rows) {
    v16 s[8][2];
    float edge[8][W];
    memset(s, 0, sizeof s);
    long l = 0;
    for (; l + 4 <= depth; l += 4) {
#pragma GCC unroll 4
        for (int q = 0; q < 4; q++) {
            v16 b0 = ld(panel + (l + q) * W), b1 = ld(panel + (l + q) * W + 16);
#pragma GCC unroll 8
            for (int r = 0; r < rows; r++) {
                s[r][0] += a[r * k + l + q] * b0;
                s[r][1] += a[r * k + l + q] * b1;
            }
        }
    }
    if (l < depth) { /* the last group of four, filled up with zeros */
        for (int q = 0; q < 4; q++) {
            v16 b0 = ld(panel + (l + q) * W), b1 = ld(panel + (l + q) * W + 16);
#pragma GCC unroll 8
            for (int r = 0; r < rows; r++) {
                float f = l + q < depth ? a[r * k + l + q] : 0.0f;
                s[r][0] += f * b0;
                s[r][1] += f * b1;
            }
        }
    }
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++) {
        memcpy(edge[r], s[r], sizeof s[r]);
        if (first) memcpy(c + r * n, edge[r], (size_t)some * sizeof(float));
        else
            for (long j = 0; j < some; j++) c[r * n + j] += edge[r][j];
    }
}

void matmul(const float *a, const float *b, float *c, long m, long n, long k) {
    for (long l = 0; l < k; l += DEEP) {
        long depth = k - l < DEEP ? k - l : DEEP;
        for (long j = 0; j < n; j += W) {
            long some = n - j < W ? n - j : W, i = 0;
            for (long d = 0; d < depth; d++) {
                if (some == W) memcpy(panel + d * W, b + (l + d) * n + j, W * sizeof(float));
                else {
                    memset(panel + d * W, 0, W * sizeof(float));
                    memcpy(panel + d * W, b + (l + d) * n + j, (size_t)some * sizeof(float));
                }
            }
            for (; i + 8 <= m; i += 8) tile(a + i * k + l, c + i * n + j, n, k, depth, some, l == 0, 8);
            for (; i < m; i++) tile(a + i * k + l, c + i * n + j, n, k, depth, some, l == 0, 1);
        }
    }
}
