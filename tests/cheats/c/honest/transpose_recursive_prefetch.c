//: transpose_cpu -O3 -march=native
//: Honest: cache-oblivious, the longer side is halved until 32 by 32 is left; that is turned in squares of 8 by 8 with the next rows fetched ahead.
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

static void small(const float *in, float *out, long rows, long cols, long m, long n) {
    long tall = m - m % 8, wide = n - n % 8;
    for (long j = 0; j < wide; j += 8)
        for (long i = 0; i < tall; i += 8) {
            if (i + 16 <= tall)
                for (int k = 8; k < 16; k++) __builtin_prefetch(in + (i + k) * cols + j);
            square(in + i * cols + j, out + j * rows + i, rows, cols);
        }
    for (long i = 0; i < m; i++)
        for (long j = i < tall ? wide : 0; j < n; j++) out[j * rows + i] = in[i * cols + j];
}

static void part(const float *in, float *out, long rows, long cols, long m, long n) {
    if (m <= 32 && n <= 32) {
        small(in, out, rows, cols, m, n);
    } else if (m >= n) {
        long half = (m / 2 + 7) / 8 * 8;
        part(in, out, rows, cols, half, n);
        part(in + half * cols, out + half, rows, cols, m - half, n);
    } else {
        long half = (n / 2 + 7) / 8 * 8;
        part(in, out, rows, cols, m, half);
        part(in + half, out + half * rows, rows, cols, m, n - half);
    }
}

void transpose(const float *in, float *out, long rows, long cols) { part(in, out, rows, cols, rows, cols); }
