//: matmul_cpu -O2 -mavx2 -mfma
//: AVX2 and fused multiply-adds by intrinsics
#include "kernel.h"
#include <immintrin.h>
#include <math.h>

void matmul(const float *a, const float *b, float *c, long m, long n, long k) {
    for (long i = 0; i < m; i++) {
        long j = 0;
        for (; j + 16 <= n; j += 16) {
            __m256 low = _mm256_setzero_ps(), high = low;
            for (long l = 0; l < k; l++) {
                __m256 of_a = _mm256_broadcast_ss(a + i * k + l);
                low = _mm256_fmadd_ps(of_a, _mm256_loadu_ps(b + l * n + j), low);
                high = _mm256_fmadd_ps(of_a, _mm256_loadu_ps(b + l * n + j + 8), high);
            }
            _mm256_storeu_ps(c + i * n + j, low);
            _mm256_storeu_ps(c + i * n + j + 8, high);
        }
        for (; j < n; j++) {
            float sum = 0.0f;
            for (long l = 0; l < k; l++) sum = fmaf(a[i * k + l], b[l * n + j], sum);
            c[i * n + j] = sum;
        }
    }
}
