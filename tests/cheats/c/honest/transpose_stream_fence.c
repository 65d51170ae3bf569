//: transpose_cpu -O3 -march=native
//: Honest: squares of 8 by 8 by AVX; from 4 MiB on, and where the addresses allow it, non-temporal stores with an sfence before the return.
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
    long tall = rows - rows % 8, wide = cols - cols % 8;
    int stream = rows * cols >= 1 << 20 && rows % 8 == 0 && (uintptr_t)out % 32 == 0;
    for (long i = 0; i < tall; i += 64)
        for (long j = 0; j < wide; j += 8)
            for (long y = i; y < i + 64 && y < tall; y += 8) {
                if (!stream) {
                    square(in + y * cols + j, out + j * rows + y, rows, cols);
                    continue;
                }
                __m256 r[8];
                for (int k = 0; k < 8; k++) r[k] = _mm256_loadu_ps(in + (y + k) * cols + j);
                turn(r);
                for (int k = 0; k < 8; k++) _mm256_stream_ps(out + (j + k) * rows + y, r[k]);
            }
    for (long i = 0; i < rows; i++)
        for (long j = i < tall ? wide : 0; j < cols; j++) out[j * rows + i] = in[i * cols + j];
    if (stream) _mm_sfence();
}
