//: matmul_cpu -O3 -march=native
//: Honest: recursive blocking over m and n (halves, until the parts of a and b fit the first caches), a tile of 6 by 16 in registers at the bottom, and every size to 0.
#include "kernel.h"

#include <string.h>

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

static inline __attribute__((always_inline)) void strip(const float *a, const float *b, float *c, long n, long wide, long k,
                                                        const int R) {
    long j = 0;
    for (; j + 16 <= wide; j += 16) tile(a, k, b + j, n, c + j, n, k, R, 2);
    for (; j + 8 <= wide; j += 8) tile(a, k, b + j, n, c + j, n, k, R, 1);
    for (; j < wide; j++)
        for (int r = 0; r < R; r++) {
            float sum = 0.0f;
            for (long l = 0; l < k; l++) sum += a[r * k + l] * b[l * n + j];
            c[r * n + j] = sum;
        }
}

/* A part of c: m rows by `wide` of its n columns. */
static void part(const float *a, const float *b, float *c, long m, long wide, long n, long k) {
    if (wide > 32 && wide >= m && wide * k > 16384) {
        long half = wide / 2 / 16 * 16;
        part(a, b, c, m, half, n, k);
        part(a, b + half, c + half, m, wide - half, n, k);
        return;
    }
    if (m > 12 && m * k > 16384) {
        long half = m / 2 / 6 * 6;
        part(a, b, c, half, wide, n, k);
        part(a + half * k, b, c + half * n, m - half, wide, n, k);
        return;
    }
    long i = 0;
    for (; i + 6 <= m; i += 6) strip(a + i * k, b, c + i * n, n, wide, k, 6);
    for (; i + 2 <= m; i += 2) strip(a + i * k, b, c + i * n, n, wide, k, 2);
    for (; i < m; i++) strip(a + i * k, b, c + i * n, n, wide, k, 1);
}

void matmul(const float *a, const float *b, float *c, long m, long n, long k) { part(a, b, c, m, n, n, k); }
