//: conv2d_cpu -O3 -march=native
//: Honest: AVX2 and FMA by hand, two rows by sixteen columns at once; the ends of rows with masked loads and stores, which touch no byte beyond the buffers. It might be refused for addresses (not accesses) beyond them, or for another order of sums.
#include "kernel.h"

#include <immintrin.h>

static inline __m256i lanes(long count) {
    return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)count), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

static inline void sixteen(const float *x, const float *w, float *y, long wide, long cols) {
    __m256 a = _mm256_setzero_ps(), b = a, c = a, d = a;
    /* A row of x serves the row of y it begins, with row i of the filter, and the one above, with row i - 1. */
    for (int i = 0; i <= SIZE; i++) {
        for (int j = 0; j < SIZE; j++) {
            __m256 left = _mm256_loadu_ps(x + i * wide + j), right = _mm256_loadu_ps(x + i * wide + j + 8);
            if (i < SIZE) {
                __m256 tap = _mm256_broadcast_ss(w + i * SIZE + j);
                a = _mm256_fmadd_ps(tap, left, a);
                b = _mm256_fmadd_ps(tap, right, b);
            }
            if (i > 0) {
                __m256 tap = _mm256_broadcast_ss(w + (i - 1) * SIZE + j);
                c = _mm256_fmadd_ps(tap, left, c);
                d = _mm256_fmadd_ps(tap, right, d);
            }
        }
    }
    _mm256_storeu_ps(y, a);
    _mm256_storeu_ps(y + 8, b);
    _mm256_storeu_ps(y + cols, c);
    _mm256_storeu_ps(y + cols + 8, d);
}

static inline void some(const float *x, const float *w, float *y, long wide, long count) {
    __m256i mask = lanes(count < 8 ? count : 8);
    __m256 even = _mm256_setzero_ps(), odd = even;
    for (int i = 0; i < SIZE; i++) {
        for (int j = 0; j < SIZE; j++) {
            __m256 v = _mm256_maskload_ps(x + i * wide + j, mask);
            __m256 tap = _mm256_broadcast_ss(w + i * SIZE + j);
            if (j % 2) odd = _mm256_fmadd_ps(tap, v, odd);
            else even = _mm256_fmadd_ps(tap, v, even);
        }
    }
    _mm256_maskstore_ps(y, mask, _mm256_add_ps(even, odd));
}

void conv2d(const float *x, const float *w, float *y, long planes, long rows, long cols) {
    long wide = cols + SIZE - 1, blocked = cols - cols % 16;
    for (long p = 0; p < planes; p++) {
        for (long r = 0; r < rows; r++) {
            const float *from = x + r * wide;
            float *to = y + r * cols;
            int pair = r + 2 <= rows;
            if (pair)
                for (long c = 0; c < blocked; c += 16) sixteen(from + c, w, to + c, wide, cols);
            for (int k = 0; k <= pair; k++)
                for (long c = pair ? blocked : 0; c < cols; c += 8) some(from + k * wide + c, w, to + k * cols + c, wide, cols - c);
            r += pair;
        }
        x += (rows + SIZE - 1) * wide;
        w += SIZE * SIZE;
        y += rows * cols;
    }
}
