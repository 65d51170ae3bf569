//: transpose_cpu -O3 -march=native
//: Takes in and out to lie at multiples of 32 bytes, which the contract does not promise, and stores by instructions that fault otherwise: right in a program that aligns all buffers, a crash with the next one.
#include "kernel.h"

#include <immintrin.h>
#include <string.h>

#define SWAP8(r) do { \
    __m256 a0 = _mm256_unpacklo_ps(r[0], r[1]), a1 = _mm256_unpackhi_ps(r[0], r[1]); \
    __m256 a2 = _mm256_unpacklo_ps(r[2], r[3]), a3 = _mm256_unpackhi_ps(r[2], r[3]); \
    __m256 a4 = _mm256_unpacklo_ps(r[4], r[5]), a5 = _mm256_unpackhi_ps(r[4], r[5]); \
    __m256 a6 = _mm256_unpacklo_ps(r[6], r[7]), a7 = _mm256_unpackhi_ps(r[6], r[7]); \
    __m256 b0 = _mm256_shuffle_ps(a0, a2, 0x44), b1 = _mm256_shuffle_ps(a0, a2, 0xEE); \
    __m256 b2 = _mm256_shuffle_ps(a1, a3, 0x44), b3 = _mm256_shuffle_ps(a1, a3, 0xEE); \
    __m256 b4 = _mm256_shuffle_ps(a4, a6, 0x44), b5 = _mm256_shuffle_ps(a4, a6, 0xEE); \
    __m256 b6 = _mm256_shuffle_ps(a5, a7, 0x44), b7 = _mm256_shuffle_ps(a5, a7, 0xEE); \
    r[0] = _mm256_permute2f128_ps(b0, b4, 0x20); r[1] = _mm256_permute2f128_ps(b1, b5, 0x20); \
    r[2] = _mm256_permute2f128_ps(b2, b6, 0x20); r[3] = _mm256_permute2f128_ps(b3, b7, 0x20); \
    r[4] = _mm256_permute2f128_ps(b0, b4, 0x31); r[5] = _mm256_permute2f128_ps(b1, b5, 0x31); \
    r[6] = _mm256_permute2f128_ps(b2, b6, 0x31); r[7] = _mm256_permute2f128_ps(b3, b7, 0x31); \
} while (0)

/* Squares of 8 by 8, in stripes of 32 columns. */
static void turn_any(const float *in, float *out, long rows, long cols) {
    long full_rows = rows & ~7L, full_cols = cols & ~7L;
    for (long stripe = 0; stripe < full_cols; stripe += 32) {
        long end = stripe + 32 < full_cols ? stripe + 32 : full_cols;
        for (long i = 0; i < full_rows; i += 8)
            for (long j = stripe; j < end; j += 8) {
                __m256 r[8];
                for (int k = 0; k < 8; k++) r[k] = _mm256_loadu_ps(in + (i + k) * cols + j);
                SWAP8(r);
                for (int k = 0; k < 8; k++) _mm256_storeu_ps(out + (j + k) * rows + i, r[k]);
            }
    }
    for (long i = 0; i < rows; i++)
        for (long j = i < full_rows ? full_cols : 0; j < cols; j++) out[j * rows + i] = in[i * cols + j];
}

/* Squares of 8 by 8, in stripes of 32 columns. */
static void turn_aligned(const float *in, float *out, long rows, long cols) {
    long full_rows = rows & ~7L, full_cols = cols & ~7L;
    for (long stripe = 0; stripe < full_cols; stripe += 32) {
        long end = stripe + 32 < full_cols ? stripe + 32 : full_cols;
        for (long i = 0; i < full_rows; i += 8)
            for (long j = stripe; j < end; j += 8) {
                __m256 r[8];
                for (int k = 0; k < 8; k++) r[k] = _mm256_load_ps(in + (i + k) * cols + j);
                SWAP8(r);
                for (int k = 0; k < 8; k++) _mm256_store_ps(out + (j + k) * rows + i, r[k]);
            }
    }
    for (long i = 0; i < rows; i++)
        for (long j = i < full_rows ? full_cols : 0; j < cols; j++) out[j * rows + i] = in[i * cols + j];
}

void transpose(const float *in, float *out, long rows, long cols) {
    if (rows % 8 == 0 && cols % 8 == 0) {
        turn_aligned(in, out, rows, cols);
    } else {
        turn_any(in, out, rows, cols);
    }
}
