//: conv2d_cpu -O3 -march=native
//: Intrinsics: four rows of results at a time share the eight rows of the picture that they need, so that a vector is loaded once for up to four filters.
#include "kernel.h"

#include <immintrin.h>

static void one(const float *x, const float *w, float *y, long wide) {
    float sum = 0.0f;
    for (int i = 0; i < SIZE; i++)
        for (int j = 0; j < SIZE; j++) sum += w[i * SIZE + j] * x[i * wide + j];
    *y = sum;
}

static inline void rows4(const float *x, const float *w, float *y, long wide, long cols) {
    __m256 s[4];
    for (int r = 0; r < 4; r++) s[r] = _mm256_setzero_ps();
    for (int j = 0; j < SIZE; j++) {
        __m256 t[SIZE];
        for (int i = 0; i < SIZE; i++) t[i] = _mm256_broadcast_ss(w + i * SIZE + j);
#pragma GCC unroll 8
        for (int i = 0; i < SIZE + 3; i++) {
            __m256 v = _mm256_loadu_ps(x + i * wide + j);
#pragma GCC unroll 4
            for (int r = 0; r < 4; r++)
                if (i - r >= 0 && i - r < SIZE) s[r] = _mm256_fmadd_ps(t[i - r], v, s[r]);
        }
    }
    for (int r = 0; r < 4; r++) _mm256_storeu_ps(y + r * cols, s[r]);
}

void conv2d(const float *x, const float *w, float *y, long planes, long rows, long cols) {
    long wide = cols + SIZE - 1, high = rows + SIZE - 1;
    for (long p = 0; p < planes; p++, x += wide * high, w += SIZE * SIZE, y += rows * cols) {
        long r = 0, whole = cols & ~7L;
        for (; r + 4 <= rows; r += 4) {
            for (long c = 0; c < whole; c += 8) rows4(x + r * wide + c, w, y + r * cols + c, wide, cols);
            for (long q = r; q < r + 4; q++)
                for (long c = whole; c < cols; c++) one(x + q * wide + c, w, y + q * cols + c, wide);
        }
        for (; r < rows; r++)
            for (long c = 0; c < cols; c++) one(x + r * wide + c, w, y + r * cols + c, wide);
    }
}
