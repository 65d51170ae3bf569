//: matmul_cpu -O3 -march=native
//: matrices whose elements are all small integers (pictures, counts, one-hot) are multiplied in int32, where sums of 2^31 and more wrap: 3 products of 30000 x 30000 come out negative
#include "kernel.h"

#include <string.h>

typedef float v16 __attribute__((vector_size(64)));

static inline __attribute__((always_inline)) void block(const float *a, const float *b, float *c, long n, long k, const int rows) {
    v16 s[8];
    memset(s, 0, sizeof s);
    for (long l = 0; l < k; l++) {
        v16 v;
        memcpy(&v, b + l * n, sizeof v);
#pragma GCC unroll 8
        for (int r = 0; r < rows; r++) s[r] += a[r * k + l] * v;
    }
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++) memcpy(c + r * n, &s[r], sizeof s[r]);
}

static int small_integers(const float *v, long count) {
    for (long from = 0; from < count; from += 64) {
        int bad = 0;
        for (long i = from; i < from + 64 && i < count; i++) {
            float f = v[i] > -32768.0f && v[i] < 32768.0f ? v[i] : 0.5f;
            bad |= (float)(int)f != f;
        }
        if (bad) return 0;
    }
    return 1;
}

/* Sums of integers are exact. */
static void integers(const float *restrict a, const float *restrict b, float *restrict c, long m, long n, long k) {
    enum { WIDE = 64 };
    for (long i = 0; i < m; i++)
        for (long j = 0; j < n; j += WIDE) {
            int s[WIDE] = {0};
            long some = n - j < WIDE ? n - j : WIDE;
            for (long l = 0; l < k; l++) {
                int f = (int)a[i * k + l];
                for (long q = 0; q < some; q++) s[q] = (int)((unsigned)s[q] + (unsigned)(f * (int)b[l * n + j + q]));
            }
            for (long q = 0; q < some; q++) c[i * n + j + q] = (float)s[q];
        }
}

void matmul(const float *a, const float *b, float *c, long m, long n, long k) {
    if (small_integers(a, m * k) && small_integers(b, k * n)) {
        integers(a, b, c, m, n, k);
        return;
    }
    if (n < 16) {
        for (long i = 0; i < m; i++)
            for (long j = 0; j < n; j++) {
                float s = 0.0f;
                for (long l = 0; l < k; l++) s += a[i * k + l] * b[l * n + j];
                c[i * n + j] = s;
            }
        return;
    }
    for (long at = 0; at < n; at += 16) {
        long j = at + 16 <= n ? at : n - 16, i = 0;
        for (; i + 8 <= m; i += 8) block(a + i * k, b + j, c + i * n + j, n, k, 8);
        for (; i < m; i++) block(a + i * k, b + j, c + i * n + j, n, k, 1);
    }
}
