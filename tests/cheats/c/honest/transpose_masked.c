//: transpose_cpu -O3 -march=native
//: honest: AVX-512 squares of 16 x 16 turned by a network of two-source permutes written as an index table, edges with masked loads and stores through the same code; plain loops without AVX-512
#include "kernel.h"

#ifdef __AVX512F__
#include <immintrin.h>

static inline __mmask16 first(long count) { return count >= 16 ? 0xFFFF : (__mmask16)((1u << count) - 1); }

/* At step s lanes that differ in bit s are exchanged between rows that differ in it: low[s] and high[s] say which lanes. */
#define LOW(s, l) ((l) & 1 << (s) ? 16 + ((l) ^ 1 << (s)) : (l))
#define HIGH(s, l) ((l) & 1 << (s) ? 16 + (l) : ((l) ^ 1 << (s)))
#define ALL(F, s)                                                                                                      \
    {F(s, 0), F(s, 1), F(s, 2), F(s, 3), F(s, 4), F(s, 5), F(s, 6), F(s, 7), F(s, 8), F(s, 9), F(s, 10), F(s, 11),        \
     F(s, 12), F(s, 13), F(s, 14), F(s, 15)}
static const int low[4][16] = {ALL(LOW, 0), ALL(LOW, 1), ALL(LOW, 2), ALL(LOW, 3)};
static const int high[4][16] = {ALL(HIGH, 0), ALL(HIGH, 1), ALL(HIGH, 2), ALL(HIGH, 3)};

static inline void square(const float *in, float *out, long rows, long cols, long height, long width) {
    __m512 r[16];
    __mmask16 across = first(width), down = first(height);
#pragma GCC unroll 16
    for (int k = 0; k < 16; k++) r[k] = k < height ? _mm512_maskz_loadu_ps(across, in + k * cols) : _mm512_setzero_ps();
#pragma GCC unroll 4
    for (int s = 0; s < 4; s++) {
        __m512i l = _mm512_loadu_si512(low[s]), h = _mm512_loadu_si512(high[s]);
#pragma GCC unroll 16
        for (int k = 0; k < 16; k++) {
            if (k & 1 << s) continue;
            __m512 a = r[k], b = r[k | 1 << s];
            r[k] = _mm512_permutex2var_ps(a, l, b);
            r[k | 1 << s] = _mm512_permutex2var_ps(a, h, b);
        }
    }
#pragma GCC unroll 16
    for (int k = 0; k < 16; k++)
        if (k < width) _mm512_mask_storeu_ps(out + k * rows, down, r[k]);
}

void transpose(const float *in, float *out, long rows, long cols) {
    for (long from = 0; from < cols; from += 64) {
        long end = from + 64 < cols ? from + 64 : cols;
        for (long i = 0; i < rows; i += 16) {
            for (long j = from; j < end; j += 16) {
                const float *a = in + i * cols + j;
                float *b = out + j * rows + i;
                if (i + 16 <= rows && j + 16 <= cols) square(a, b, rows, cols, 16, 16);
                else square(a, b, rows, cols, rows - i, cols - j);
            }
        }
    }
}

#else

void transpose(const float *in, float *out, long rows, long cols) {
    for (long i = 0; i < rows; i += 16)
        for (long j = 0; j < cols; j++)
            for (long k = i; k < i + 16 && k < rows; k++) out[j * rows + k] = in[k * cols + j];
}

#endif
