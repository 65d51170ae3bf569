//: transpose_cpu -O3 -march=native
//: squares of 16 x 16 are transposed by four stages of two-source permutes whose indices are computed, edges by masks; whole lines are stored past the caches, with a fence, where the matrix is larger than they are
#include "kernel.h"

#include <immintrin.h>
#include <stdint.h>

enum { SIDE = 16, BAND = 64 };

/* For stage s: lanes whose bit s is 0 stay or come from the partner's, those whose bit is 1 the other way about. */
typedef struct { __m512i keep[4], take[4]; } network;

static inline network indices(void) {
    network of;
    __m512i lane = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    for (int s = 0; s < 4; s++) {
        __m512i bit = _mm512_set1_epi32(1 << s), other = _mm512_set1_epi32(16);
        __mmask16 odd = _mm512_test_epi32_mask(lane, bit);
        __m512i moved = _mm512_xor_si512(lane, bit);
        of.keep[s] = _mm512_mask_add_epi32(lane, odd, moved, other);            /* even lanes of mine, even ones of his */
        of.take[s] = _mm512_mask_add_epi32(moved, odd, lane, other);            /* odd lanes of mine, odd ones of his */
    }
    return of;
}

static inline void put(float *to, __mmask16 m, __m512 v, int past) {
    if (past && m == 0xFFFF && (uintptr_t)to % 64 == 0) _mm512_stream_ps(to, v);
    else _mm512_mask_storeu_ps(to, m, v);
}

/* `tall` rows and `wide` columns of a square; what is missing of it is neither read nor written. */
static inline void square(const float *in, float *out, long rows, long cols, int tall, int wide, const network *of, int past) {
    __mmask16 in_row = (__mmask16)((1u << wide) - 1), in_column = (__mmask16)((1u << tall) - 1);
    __m512 r[SIDE];
#pragma GCC unroll 16
    for (int k = 0; k < SIDE; k++) r[k] = k < tall ? _mm512_maskz_loadu_ps(in_row, in + k * cols) : _mm512_setzero_ps();
#pragma GCC unroll 4
    for (int s = 0; s < 4; s++) {
#pragma GCC unroll 16
        for (int k = 0; k < SIDE; k++) {
            if (k >> s & 1) continue;
            int partner = k | 1 << s;
            __m512 low = _mm512_permutex2var_ps(r[k], of->keep[s], r[partner]);
            r[partner] = _mm512_permutex2var_ps(r[k], of->take[s], r[partner]);
            r[k] = low;
        }
    }
#pragma GCC unroll 16
    for (int k = 0; k < SIDE; k++)
        if (k < wide) put(out + k * rows, in_column, r[k], past);
}

void transpose(const float *in, float *out, long rows, long cols) {
    const network of = indices();
    int past = (size_t)rows * (size_t)cols >= (size_t)1 << 23;
    for (long i = 0; i < rows; i += BAND) {
        long end = i + BAND < rows ? i + BAND : rows;
        for (long j = 0; j < cols; j += SIDE) {
            int wide = cols - j < SIDE ? (int)(cols - j) : SIDE;
            for (long y = i; y < end; y += SIDE) {
                int tall = rows - y < SIDE ? (int)(rows - y) : SIDE;
                const float *from = in + y * cols + j;
                float *to = out + j * rows + y;
                if (wide == SIDE && tall == SIDE) square(from, to, rows, cols, SIDE, SIDE, &of, past);
                else square(from, to, rows, cols, tall, wide, &of, past);
            }
        }
    }
    if (past) _mm_sfence();
}
