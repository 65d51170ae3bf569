//: matmul_cpu -O3 -march=native
//: honest: AVX-512 tiles of up to 6 rows x 32 columns written by one macro for each number of rows; edges by masks, no packing; plain loops without AVX-512
#include "kernel.h"

#include <string.h>

#ifdef __AVX512F__
#include <immintrin.h>

#define TILE(ROWS)                                                                                                      \
    static void tile##ROWS(const float *a, const float *b, float *c, long n, long k, __mmask16 p, __mmask16 q) {         \
        __m512 s[ROWS], t[ROWS];                                                                                        \
        for (int r = 0; r < ROWS; r++) s[r] = t[r] = _mm512_setzero_ps();                                               \
        for (long l = 0; l < k; l++) {                                                                                  \
            __m512 u = _mm512_maskz_loadu_ps(p, b + l * n), v = _mm512_maskz_loadu_ps(q, b + l * n + (q ? 16 : 0));     \
            _Pragma("GCC unroll 6") for (int r = 0; r < ROWS; r++) {                                                    \
                __m512 f = _mm512_set1_ps(a[r * k + l]);                                                                \
                s[r] = _mm512_fmadd_ps(f, u, s[r]);                                                                     \
                t[r] = _mm512_fmadd_ps(f, v, t[r]);                                                                     \
            }                                                                                                           \
        }                                                                                                               \
        for (int r = 0; r < ROWS; r++) {                                                                                \
            _mm512_mask_storeu_ps(c + r * n, p, s[r]);                                                                  \
            if (q) _mm512_mask_storeu_ps(c + r * n + 16, q, t[r]);                                                      \
        }                                                                                                               \
    }
TILE(1) TILE(2) TILE(3) TILE(4) TILE(5) TILE(6)

void matmul(const float *a, const float *b, float *c, long m, long n, long k) {
    static void (*const tiles[])(const float *, const float *, float *, long, long, __mmask16, __mmask16) = {
        tile1, tile2, tile3, tile4, tile5, tile6};
    for (long j = 0; j < n; j += 32) {
        long left = n - j;
        __mmask16 p = left >= 16 ? 0xFFFF : (__mmask16)((1u << left) - 1);
        __mmask16 q = left >= 32 ? 0xFFFF : left > 16 ? (__mmask16)((1u << (left - 16)) - 1) : 0;
        for (long i = 0; i < m; i += 6) tiles[m - i < 6 ? m - i - 1 : 5](a + i * k, b + j, c + i * n + j, n, k, p, q);
    }
}

#else

void matmul(const float *a, const float *b, float *c, long m, long n, long k) {
    memset(c, 0, (size_t)(m * n) * sizeof *c);
    for (long i = 0; i < m; i++)
        for (long l = 0; l < k; l++)
            for (long j = 0; j < n; j++) c[i * n + j] += a[i * k + l] * b[l * n + j];
}

#endif
