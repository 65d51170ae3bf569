//: transpose_cpu -O3 -march=native
//: Cache-oblivious: halves the longer side until a piece is small, and turns it in squares of 8 by 8 in registers.
#include "kernel.h"

#include <immintrin.h>

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

static void piece(const float *in, float *out, long rows, long cols, long height, long width) {
    if (height > 32 && height >= width) {
        long half = height / 2 & ~7L;
        piece(in, out, rows, cols, half, width);
        piece(in + half * cols, out + half, rows, cols, height - half, width);
        return;
    }
    if (width > 32) {
        long half = width / 2 & ~7L;
        piece(in, out, rows, cols, height, half);
        piece(in + half, out + half * rows, rows, cols, height, width - half);
        return;
    }
    long j = 0;
    for (; j + 8 <= width; j += 8) {
        long i = 0;
        for (; i + 8 <= height; i += 8) {
            __m256 r[8];
            for (int k = 0; k < 8; k++) r[k] = _mm256_loadu_ps(in + (i + k) * cols + j);
            SWAP8(r);
            for (int k = 0; k < 8; k++) _mm256_storeu_ps(out + (j + k) * rows + i, r[k]);
        }
        for (; i < height; i++)
            for (int k = 0; k < 8; k++) out[(j + k) * rows + i] = in[i * cols + j + k];
    }
    for (; j < width; j++)
        for (long i = 0; i < height; i++) out[j * rows + i] = in[i * cols + j];
}

void transpose(const float *in, float *out, long rows, long cols) { piece(in, out, rows, cols, rows, cols); }
