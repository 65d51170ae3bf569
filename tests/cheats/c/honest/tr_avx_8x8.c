//: transpose_cpu -O3 -march=native
//: Honest: 8 x 8 squares in AVX registers (unpack, shuffle, permute), tiles of 32 x 32, software prefetch of the next tile's rows inside the matrix.
#include "kernel.h"

#include <immintrin.h>

static inline void square(const float *in, float *out, long rows, long cols) {
    __m256 a[8], b[8];
    for (int k = 0; k < 4; k++) {
        a[k] = _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(in + k * cols)), _mm_loadu_ps(in + (k + 4) * cols), 1);
        a[k + 4] = _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(in + k * cols + 4)), _mm_loadu_ps(in + (k + 4) * cols + 4), 1);
    }
    for (int h = 0; h < 8; h += 4) {
        b[h] = _mm256_unpacklo_ps(a[h], a[h + 1]);
        b[h + 1] = _mm256_unpackhi_ps(a[h], a[h + 1]);
        b[h + 2] = _mm256_unpacklo_ps(a[h + 2], a[h + 3]);
        b[h + 3] = _mm256_unpackhi_ps(a[h + 2], a[h + 3]);
        _mm256_storeu_ps(out + h * rows, _mm256_shuffle_ps(b[h], b[h + 2], 0x44));
        _mm256_storeu_ps(out + (h + 1) * rows, _mm256_shuffle_ps(b[h], b[h + 2], 0xEE));
        _mm256_storeu_ps(out + (h + 2) * rows, _mm256_shuffle_ps(b[h + 1], b[h + 3], 0x44));
        _mm256_storeu_ps(out + (h + 3) * rows, _mm256_shuffle_ps(b[h + 1], b[h + 3], 0xEE));
    }
}

void transpose(const float *in, float *out, long rows, long cols) {
    for (long j = 0; j < cols; j += 32) {
        long j_end = j + 32 < cols ? j + 32 : cols;
        for (long i = 0; i < rows; i += 32) {
            long i_end = i + 32 < rows ? i + 32 : rows, jj = j;
            for (; jj + 8 <= j_end; jj += 8) {
                long ii = i;
                for (; ii + 8 <= i_end; ii += 8) {
                    if (ii + 40 <= rows) _mm_prefetch((const char *)(in + (ii + 32) * cols + jj), _MM_HINT_T0);
                    square(in + ii * cols + jj, out + jj * rows + ii, rows, cols);
                }
                for (; ii < i_end; ii++)
                    for (long q = jj; q < jj + 8; q++) out[q * rows + ii] = in[ii * cols + q];
            }
            for (; jj < j_end; jj++)
                for (long ii = i; ii < i_end; ii++) out[jj * rows + ii] = in[ii * cols + jj];
        }
    }
}
