//: matmul_cpu -O3 -march=native
//: Honest: AVX2/FMA intrinsics, 6 x 16 register tile, panels of b packed into a buffer from aligned_alloc that is freed in the same call; without memory it works on b itself.
#include "kernel.h"

#include <immintrin.h>
#include <stdlib.h>
#include <string.h>

enum { MR = 6, NR = 16, KC = 256 };

static const int masks[32] = {-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1};

/* `rows` x 16 of c; b has rows of `stride` floats. `width` columns are stored. */
static inline __attribute__((always_inline)) void tile(
    const float *a, const float *b, float *c, long n, long k, long stride, long width, int rows
) {
    __m256 lo[MR], hi[MR];
    for (int r = 0; r < rows; r++) lo[r] = hi[r] = _mm256_setzero_ps();
    __m256i m0 = _mm256_loadu_si256((const __m256i *)(masks + 16 - width)), m1 = _mm256_loadu_si256((const __m256i *)(masks + 24 - width));
    int whole = width == NR || stride == NR;
    __m256 all_lo[MR], all_hi[MR];
    for (int r = 0; r < rows; r++) all_lo[r] = all_hi[r] = _mm256_setzero_ps();
    for (long l = 0; l < k; l++) {
        if (l % KC == 0 && l) { /* shorter sums lose less */
            for (int r = 0; r < rows; r++) {
                all_lo[r] = _mm256_add_ps(all_lo[r], lo[r]);
                all_hi[r] = _mm256_add_ps(all_hi[r], hi[r]);
                lo[r] = hi[r] = _mm256_setzero_ps();
            }
        }
        __m256 b0, b1;
        if (whole) {
            b0 = _mm256_loadu_ps(b + l * stride);
            b1 = _mm256_loadu_ps(b + l * stride + 8);
        } else {
            b0 = _mm256_maskload_ps(b + l * stride, m0);
            b1 = _mm256_maskload_ps(b + l * stride + 8, m1);
        }
#pragma GCC unroll 6
        for (int r = 0; r < rows; r++) {
            __m256 s = _mm256_broadcast_ss(a + r * k + l);
            lo[r] = _mm256_fmadd_ps(s, b0, lo[r]);
            hi[r] = _mm256_fmadd_ps(s, b1, hi[r]);
        }
    }
    for (int r = 0; r < rows; r++) {
        lo[r] = _mm256_add_ps(all_lo[r], lo[r]);
        hi[r] = _mm256_add_ps(all_hi[r], hi[r]);
        if (width == NR) {
            _mm256_storeu_ps(c + r * n, lo[r]);
            _mm256_storeu_ps(c + r * n + 8, hi[r]);
        } else {
            _mm256_maskstore_ps(c + r * n, m0, lo[r]);
            _mm256_maskstore_ps(c + r * n + 8, m1, hi[r]);
        }
    }
}

static void column(const float *a, const float *b, float *c, long m, long n, long k, long stride, long width) {
    long i = 0;
    for (; i + MR <= m; i += MR) tile(a + i * k, b, c + i * n, n, k, stride, width, MR);
    a += i * k;
    c += i * n;
    switch (m - i) {
        case 5: tile(a, b, c, n, k, stride, width, 5); break;
        case 4: tile(a, b, c, n, k, stride, width, 4); break;
        case 3: tile(a, b, c, n, k, stride, width, 3); break;
        case 2: tile(a, b, c, n, k, stride, width, 2); break;
        case 1: tile(a, b, c, n, k, stride, width, 1); break;
        default: break;
    }
}

void matmul(const float *a, const float *b, float *c, long m, long n, long k) {
    float *panel = m >= 2 * MR ? aligned_alloc(64, (size_t)k * NR * sizeof(float)) : NULL;
    for (long j = 0; j < n; j += NR) {
        long width = n - j < NR ? n - j : NR;
        if (panel) {
            for (long l = 0; l < k; l++) {
                float *to = panel + l * NR;
                if (width == NR) {
                    memcpy(to, b + l * n + j, NR * sizeof(float));
                } else {
                    memset(to, 0, NR * sizeof(float));
                    memcpy(to, b + l * n + j, (size_t)width * sizeof(float));
                }
            }
            column(a, panel, c + j, m, n, k, NR, width);
        } else {
            column(a, b + j, c + j, m, n, k, n, width);
        }
    }
    free(panel);
}
