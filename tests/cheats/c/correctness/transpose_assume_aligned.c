//: transpose_cpu -O3 -march=native
//: Loads and stores by aligned vectors wherever both dims are multiples of 8, without a look at the addresses: buffers from malloc are multiples of 16 only, and a view that begins at a later element of less; for these it crashes.
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

static inline void aligned_square(const float *in, float *out, long rows, long cols) {
    __m256 r[8];
    for (int k = 0; k < 8; k++) r[k] = _mm256_load_ps(in + k * cols);
    turn(r);
    for (int k = 0; k < 8; k++) _mm256_store_ps(out + k * rows, r[k]);
}

static void remainder_of(const float *in, float *out, long rows, long cols, long i, long i_end, long j, long j_end) {
    for (; i < i_end; i++)
        for (long x = j; x < j_end; x++) out[x * rows + i] = in[i * cols + x];
}

void transpose(const float *in, float *out, long rows, long cols) {
    long tall = rows - rows % 8, wide = cols - cols % 8;
    if (tall == rows && wide == cols)
        for (long j = 0; j < wide; j += 8) /* every row begins at a multiple of 32 bytes */
            for (long i = 0; i < tall; i += 8) aligned_square(in + i * cols + j, out + j * rows + i, rows, cols);
    else
        for (long j = 0; j < wide; j += 8)
            for (long i = 0; i < tall; i += 8) square(in + i * cols + j, out + j * rows + i, rows, cols);
    remainder_of(in, out, rows, cols, 0, tall, wide, cols);
    remainder_of(in, out, rows, cols, tall, rows, 0, cols);
}
