//: matmul_cpu -O3 -march=native
//: four rows by two vectors in registers, whose right edge is loaded and stored under masks cut from a sliding table
#include "kernel.h"

#if defined(__AVX2__) && defined(__FMA__)
#include <immintrin.h>

static const int slide[32] = {-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1};

enum { DEPTH = 128 }; /* products that are added up before they go to the others */

/* `rows` is a constant where it is called; `left` and `right` say which columns there are. */
static inline __attribute__((always_inline)) void tile(const float *a, const float *b, float *c, long n, long k, int rows, int masked, __m256i left,
                                                       __m256i right) {
    __m256 all[4][2], sums[4][2];
    for (int r = 0; r < rows; r++) all[r][0] = all[r][1] = _mm256_setzero_ps();
    for (long from = 0; from < k; from += DEPTH) {
        long to = from + DEPTH < k ? from + DEPTH : k;
        for (int r = 0; r < rows; r++) sums[r][0] = sums[r][1] = _mm256_setzero_ps();
        for (long l = from; l < to; l++, b += n) {
            __m256 p = masked ? _mm256_maskload_ps(b, left) : _mm256_loadu_ps(b);
            __m256 q = masked ? _mm256_maskload_ps(b + 8, right) : _mm256_loadu_ps(b + 8);
#pragma GCC unroll 4
            for (int r = 0; r < rows; r++) {
                __m256 of_a = _mm256_broadcast_ss(a + r * k + l);
                sums[r][0] = _mm256_fmadd_ps(of_a, p, sums[r][0]);
                sums[r][1] = _mm256_fmadd_ps(of_a, q, sums[r][1]);
            }
        }
        for (int r = 0; r < rows; r++) {
            all[r][0] = _mm256_add_ps(all[r][0], sums[r][0]);
            all[r][1] = _mm256_add_ps(all[r][1], sums[r][1]);
        }
    }
    for (int r = 0; r < rows; r++) {
        if (masked) {
            _mm256_maskstore_ps(c + r * n, left, all[r][0]);
            _mm256_maskstore_ps(c + r * n + 8, right, all[r][1]);
        } else {
            _mm256_storeu_ps(c + r * n, all[r][0]);
            _mm256_storeu_ps(c + r * n + 8, all[r][1]);
        }
    }
}

static void strip(const float *a, const float *b, float *c, long m, long n, long k, int masked, __m256i left, __m256i right) {
    long i = 0;
    if (masked)
        for (; i + 4 <= m; i += 4) tile(a + i * k, b, c + i * n, n, k, 4, 1, left, right);
    else
        for (; i + 4 <= m; i += 4) tile(a + i * k, b, c + i * n, n, k, 4, 0, left, right);
    for (; i < m; i++) tile(a + i * k, b, c + i * n, n, k, 1, masked, left, right);
}

void matmul(const float *a, const float *b, float *c, long m, long n, long k) {
    for (long j = 0; j < n; j += 16) {
        int there = n - j < 16 ? (int)(n - j) : 16;
        const int *from = slide + 16 - there;
        __m256i left = _mm256_loadu_si256((const __m256i *)from), right = _mm256_loadu_si256((const __m256i *)(from + 8));
        strip(a, b + j, c + j, m, n, k, there < 16, left, right);
    }
}

#else

void matmul(const float *a, const float *b, float *c, long m, long n, long k) {
    for (long i = 0; i < m; i++) {
        for (long j = 0; j < n; j++) c[i * n + j] = 0.0f;
        for (long l = 0; l < k; l++)
            for (long j = 0; j < n; j++) c[i * n + j] += a[i * k + l] * b[l * n + j];
    }
}

#endif
