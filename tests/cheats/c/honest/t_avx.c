//: transpose_cpu -O3 -march=native
//: squares of eight by eight in AVX registers
#include "kernel.h"
#include <immintrin.h>

static inline void square(const float *in, float *out, long rows, long cols) {
    __m256 r[8], t[8];
    for (int k = 0; k < 8; k++) r[k] = _mm256_loadu_ps(in + k * cols);
    for (int k = 0; k < 8; k += 2) t[k] = _mm256_unpacklo_ps(r[k], r[k + 1]), t[k + 1] = _mm256_unpackhi_ps(r[k], r[k + 1]);
    for (int k = 0; k < 8; k += 4)
        for (int h = 0; h < 2; h++) {
            r[k + 2 * h] = _mm256_shuffle_ps(t[k + h], t[k + 2 + h], 0x44);
            r[k + 2 * h + 1] = _mm256_shuffle_ps(t[k + h], t[k + 2 + h], 0xee);
        }
    for (int k = 0; k < 4; k++) {
        _mm256_storeu_ps(out + k * rows, _mm256_permute2f128_ps(r[k], r[k + 4], 0x20));
        _mm256_storeu_ps(out + (k + 4) * rows, _mm256_permute2f128_ps(r[k], r[k + 4], 0x31));
    }
}

void transpose(const float *in, float *out, long rows, long cols) {
    long down = rows & ~7, across = cols & ~7;
    for (long i = 0; i < down; i += 8)
        for (long j = 0; j < across; j += 8) square(in + i * cols + j, out + j * rows + i, rows, cols);
    for (long i = 0; i < rows; i++)
        for (long j = i < down ? across : 0; j < cols; j++) out[j * rows + i] = in[i * cols + j];
}
