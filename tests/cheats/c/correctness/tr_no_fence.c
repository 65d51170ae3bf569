//: transpose_cpu -O3 -march=native
//: Missing order: outputs of a megabyte and more go out with non-temporal stores and there is no sfence afterwards, so another thread that is told "done" may read old values. One thread on one core never sees that.
#include "kernel.h"

#include <immintrin.h>
#include <stdint.h>

static inline __attribute__((always_inline)) void square(const float *in, float *out, long rows, long cols) {
    __m256 a[8], b[8];
    for (int k = 0; k < 4; k++) {
        a[k] = _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(in + k * cols)), _mm_loadu_ps(in + (k + 4) * cols), 1);
        a[k + 4] = _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(in + k * cols + 4)), _mm_loadu_ps(in + (k + 4) * cols + 4), 1);
    }
    for (int h = 0; h < 8; h += 4) {
        b[0] = _mm256_unpacklo_ps(a[h], a[h + 1]);
        b[1] = _mm256_unpackhi_ps(a[h], a[h + 1]);
        b[2] = _mm256_unpacklo_ps(a[h + 2], a[h + 3]);
        b[3] = _mm256_unpackhi_ps(a[h + 2], a[h + 3]);
        __m256 c[4] = {_mm256_shuffle_ps(b[0], b[2], 0x44), _mm256_shuffle_ps(b[0], b[2], 0xEE),
                       _mm256_shuffle_ps(b[1], b[3], 0x44), _mm256_shuffle_ps(b[1], b[3], 0xEE)};
        for (int k = 0; k < 4; k++) _mm256_storeu_ps(out + (h + k) * rows, c[k]);
    }
}

/* Whole lines of 64 bytes, one after the other. */
static void lines(const float *in, float *out, long rows, long cols) {
    float of[8][16] __attribute__((aligned(64)));
    square(in, of[0], 16, cols);
    square(in + 8 * cols, of[0] + 8, 16, cols);
    for (int k = 0; k < 8; k++) {
        _mm256_stream_ps(out + k * rows, _mm256_load_ps(of[k]));
        _mm256_stream_ps(out + k * rows + 8, _mm256_load_ps(of[k] + 8));
    }
}

void transpose(const float *in, float *out, long rows, long cols) {
    int stream = rows * cols >= 262144 && rows % 16 == 0 && (uintptr_t)out % 64 == 0;
    for (long j = 0; j < cols; j += 8) {
        for (long i = 0; i < rows; i += 16) {
            if (stream && j + 8 <= cols) {
                lines(in + i * cols + j, out + j * rows + i, rows, cols);
                continue;
            }
            for (long u = i; u < i + 16 && u < rows; u += 8) {
                if (u + 8 <= rows && j + 8 <= cols) {
                    square(in + u * cols + j, out + j * rows + u, rows, cols);
                    continue;
                }
                for (long v = j; v < j + 8 && v < cols; v++)
                    for (long q = u; q < u + 8 && q < rows; q++) out[v * rows + q] = in[q * cols + v];
            }
        }
    }
}
