//: conv2d_cpu -O3 -march=native
//: loads sixteen elements of a row and the four behind them once (fewer at its end, by masks), and has valignd shift these into the five vectors that a filter's row needs
#include "kernel.h"
#include <stddef.h>

/* All of it where there is no AVX-512. */
static void plainly(const float *restrict x, const float *restrict w, float *restrict y, long wide, long from, long to) {
    for (long c = from; c < to; c++) {
        float sum = 0.0f;
        for (ptrdiff_t tap = 0; tap < SIZE * SIZE; tap++) sum += w[tap] * x[tap / SIZE * wide + tap % SIZE + c];
        y[c] = sum;
    }
}

#ifdef __AVX512F__
#include <immintrin.h>

#define TAP(j, v) sum##j = _mm512_fmadd_ps(_mm512_set1_ps(w[i * SIZE + j]), v, sum##j)
#define SHIFTED(j) _mm512_castsi512_ps(_mm512_alignr_epi32(high, low, j))

/* Of the last sixteen or fewer, masks say which there are. */
static long by_vectors(const float *x, const float *w, float *y, long wide, long cols) {
    for (long c = 0; c < cols; c += 16) {
        unsigned there = cols - c < 16 ? (1u << (cols - c)) - 1 : 0xffffu;
        unsigned long needed = ((unsigned long)there << 4) | 15;
        __m512 sum0 = _mm512_setzero_ps(), sum1 = sum0, sum2 = sum0, sum3 = sum0, sum4 = sum0;
        for (int i = 0; i < SIZE; i++) {
            const float *row = x + i * wide + c;
            __m512i low = _mm512_maskz_loadu_epi32((__mmask16)needed, row), high = _mm512_maskz_loadu_epi32((__mmask16)(needed >> 16), row + 16);
            TAP(0, _mm512_castsi512_ps(low));
            TAP(1, SHIFTED(1));
            TAP(2, SHIFTED(2));
            TAP(3, SHIFTED(3));
            TAP(4, SHIFTED(4));
        }
        _mm512_mask_storeu_ps(y + c, (__mmask16)there, _mm512_add_ps(_mm512_add_ps(_mm512_add_ps(sum0, sum1), _mm512_add_ps(sum2, sum3)), sum4));
    }
    return cols;
}
#else
static long by_vectors(const float *x, const float *w, float *y, long wide, long cols) {
    return (void)x, (void)w, (void)y, (void)wide, (void)cols, 0;
}
#endif

void conv2d(const float *x, const float *w, float *y, long planes, long rows, long cols) {
    const long wide = cols + (SIZE - 1), plane = wide * (rows + (SIZE - 1));
    for (long p = 0; p != planes; ++p)
        for (long r = 0; r != rows; ++r) {
            const float *from = x + p * plane + r * wide, *filter = w + p * (SIZE * SIZE);
            float *to = y + (p * rows + r) * cols;
            plainly(from, filter, to, wide, by_vectors(from, filter, to, wide, cols), cols);
        }
}
