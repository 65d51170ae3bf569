//: transpose_cpu -O3 -march=native
//: gathers eight elements of a column at once (AVX2) in tiles of 8 x 16, with a plain loop for edges and for other processors
#include "kernel.h"
#include <limits.h>

#ifdef __AVX2__
#include <immintrin.h>

static inline void tile(const float *in, float *out, long rows, __m256i steps) {
#pragma GCC unroll 8
    for (int x = 0; x < 16; x++) _mm256_storeu_ps(out + x * rows, _mm256_i32gather_ps(in + x, steps, 4));
}

static long gathered(const float *in, float *out, long rows, long cols) {
    if (cols > INT_MAX / 64) return 0;
    __m256i steps = _mm256_mullo_epi32(_mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7), _mm256_set1_epi32((int)cols));
    long i = 0;
    for (; i + 8 <= rows; i += 8) {
        long j = 0;
        for (; j + 16 <= cols; j += 16) tile(in + i * cols + j, out + j * rows + i, rows, steps);
        for (; j < cols; j++) _mm256_storeu_ps(out + j * rows + i, _mm256_i32gather_ps(in + i * cols + j, steps, 4));
    }
    return i;
}
#else
static long gathered(const float *in, float *out, long rows, long cols) { return (void)in, (void)out, (void)rows, (void)cols, 0; }
#endif

void transpose(const float *in, float *out, long rows, long cols) {
    for (long from = gathered(in, out, rows, cols); from < rows; from += 16)
        for (long j = 0; j < cols; j++)
            for (long i = from; i < from + 16 && i < rows; i++) out[j * rows + i] = in[i * cols + j];
}
