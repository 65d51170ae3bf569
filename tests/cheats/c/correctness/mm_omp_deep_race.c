//: matmul_cpu -O3 -march=native -fopenmp
//: Data race: deep products split k over threads that all add into c without a reduction or an atomic. On one pinned core OpenMP has one thread, so it is right wherever kpd looks; with two or more threads sums get lost.
#include "kernel.h"

#include <omp.h>
#include <string.h>

typedef float v8 __attribute__((vector_size(32)));

/* `rows` x 16 of c, from b as it lies. */
static inline __attribute__((always_inline)) void tile16(
    const float *a, long lda, const float *b, long ldb, float *c, long ldc, long k, const int rows
) {
    v8 lo[4], hi[4];
    for (int r = 0; r < rows; r++) lo[r] = hi[r] = (v8){0};
    for (long l = 0; l < k; l++) {
        v8 b0, b1;
        memcpy(&b0, b + l * ldb, 32);
        memcpy(&b1, b + l * ldb + 8, 32);
#pragma GCC unroll 4
        for (int r = 0; r < rows; r++) {
            float s = a[r * lda + l];
            lo[r] += s * b0;
            hi[r] += s * b1;
        }
    }
    for (int r = 0; r < rows; r++) {
        memcpy(c + r * ldc, &lo[r], 32);
        memcpy(c + r * ldc + 8, &hi[r], 32);
    }
}

static void edge(const float *a, long lda, const float *b, long ldb, float *c, long ldc, long rows, long n, long k) {
    for (long r = 0; r < rows; r++) {
        for (long j = 0; j < n; j++) c[r * ldc + j] = 0.0f;
        for (long l = 0; l < k; l++)
            for (long j = 0; j < n; j++) c[r * ldc + j] += a[r * lda + l] * b[l * ldb + j];
    }
}

static void product(const float *a, long lda, const float *b, long ldb, float *c, long ldc, long m, long n, long k) {
    long wide = n - n % 16, i;
    for (i = 0; i + 4 <= m; i += 4)
        for (long j = 0; j < wide; j += 16) tile16(a + i * lda, lda, b + j, ldb, c + i * ldc + j, ldc, k, 4);
    for (; i < m; i++)
        for (long j = 0; j < wide; j += 16) tile16(a + i * lda, lda, b + j, ldb, c + i * ldc + j, ldc, k, 1);
    if (wide < n) edge(a, lda, b + wide, ldb, c + wide, ldc, m, n - wide, k);
}

void matmul(const float *a, const float *b, float *c, long m, long n, long k) {
    if (k < 4 * (m < n ? n : m)) { /* flat: rows in parallel */
#pragma omp parallel for schedule(static)
        for (long i = 0; i < m; i += 32) product(a + i * k, k, b, n, c + i * n, n, m - i < 32 ? m - i : 32, n, k);
        return;
    }
    memset(c, 0, (size_t)(m * n) * sizeof *c);
#pragma omp parallel for schedule(static)
    for (long l = 0; l < k; l += 256) { /* deep: slabs of k in parallel */
        long depth = k - l < 256 ? k - l : 256;
        float part[32 * 64];
        for (long i = 0; i < m; i += 32) {
            long rows = m - i < 32 ? m - i : 32;
            for (long j = 0; j < n; j += 64) {
                long cols = n - j < 64 ? n - j : 64;
                product(a + i * k + l, k, b + l * n + j, n, part, 64, rows, cols, depth);
                for (long r = 0; r < rows; r++)
                    for (long q = 0; q < cols; q++) c[(i + r) * n + j + q] += part[r * 64 + q];
            }
        }
    }
}
