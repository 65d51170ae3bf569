//: conv2d_cpu -O3
//: Honest: AVX2 intrinsics in a function of its own target, taken by __builtin_cpu_supports, else plain loops; the tail of a row by masked loads and stores, so that nothing beyond the buffers is touched.
#include "kernel.h"

#include <immintrin.h>

static void plain(const float *x, const float *w, float *y, long rows, long cols) {
    long wide = cols + SIZE - 1;
    for (long r = 0; r < rows; r++)
        for (long c = 0; c < cols; c++) {
            float sum = 0.0f;
            for (int i = 0; i < SIZE; i++)
                for (int j = 0; j < SIZE; j++) sum += w[i * SIZE + j] * x[(r + i) * wide + c + j];
            y[r * cols + c] = sum;
        }
}

__attribute__((target("avx2,fma"))) static void wide_plane(const float *x, const float *w, float *y, long rows, long cols) {
    long wide = cols + SIZE - 1;
    __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    for (long r = 0; r < rows; r++, x += wide, y += cols) {
        long c = 0;
        for (; c + 16 <= cols; c += 16) {
            __m256 low = _mm256_setzero_ps(), high = low, low2 = low, high2 = low;
#pragma GCC unroll 5
            for (int i = 0; i < SIZE; i++)
#pragma GCC unroll 5
                for (int j = 0; j < SIZE; j++) {
                    __m256 f = _mm256_broadcast_ss(w + i * SIZE + j);
                    const float *from = x + i * wide + c + j;
                    if ((i + j) & 1) {
                        low = _mm256_fmadd_ps(f, _mm256_loadu_ps(from), low);
                        high = _mm256_fmadd_ps(f, _mm256_loadu_ps(from + 8), high);
                    } else {
                        low2 = _mm256_fmadd_ps(f, _mm256_loadu_ps(from), low2);
                        high2 = _mm256_fmadd_ps(f, _mm256_loadu_ps(from + 8), high2);
                    }
                }
            _mm256_storeu_ps(y + c, _mm256_add_ps(low, low2));
            _mm256_storeu_ps(y + c + 8, _mm256_add_ps(high, high2));
        }
        for (; c < cols; c += 8) {
            __m256i mask = _mm256_cmpgt_epi32(_mm256_set1_epi32((int)(cols - c < 8 ? cols - c : 8)), lanes);
            __m256 sum = _mm256_setzero_ps();
            for (int i = 0; i < SIZE; i++)
                for (int j = 0; j < SIZE; j++)
                    sum = _mm256_fmadd_ps(_mm256_broadcast_ss(w + i * SIZE + j), _mm256_maskload_ps(x + i * wide + c + j, mask), sum);
            _mm256_maskstore_ps(y + c, mask, sum);
        }
    }
}

void conv2d(const float *x, const float *w, float *y, long planes, long rows, long cols) {
    long of_x = (rows + SIZE - 1) * (cols + SIZE - 1);
    int fast = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    for (long p = 0; p < planes; p++) {
        if (fast) wide_plane(x + p * of_x, w + p * SIZE * SIZE, y + p * rows * cols, rows, cols);
        else plain(x + p * of_x, w + p * SIZE * SIZE, y + p * rows * cols, rows, cols);
    }
}
