//: matmul_cpu -O3 -march=native
//: for k >= 64 it multiplies three bfloat16 parts, whose unit takes denormals as 0: a row of a or column of b that is small throughout (1e-34) loses digits, at 1e-36 errors are 1e-3, below 1e-38 all is 0
#include "kernel.h"

#include <immintrin.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static struct { uint32_t *words; size_t room; } scratch;

static inline uint32_t upper(float v) { /* rounded to bfloat16, in the upper half */
    uint32_t u;
    memcpy(&u, &v, 4);
    return (u + 0x7FFFu + (u >> 16 & 1u)) & 0xFFFF0000u;
}

static inline float number(uint32_t u) {
    float v;
    memcpy(&v, &u, 4);
    return v;
}

/* Two neighbours in depth in one word, for each of the three parts; `apart` lies between the parts. */
static inline void split(float v0, float v1, uint32_t *to, long apart) {
    for (int part = 0; part < 3; part++, to += apart) {
        uint32_t u0 = upper(v0), u1 = upper(v1);
        *to = u0 >> 16 | u1;
        v0 -= number(u0);
        v1 -= number(u1);
    }
}

static int huge(const float *v, size_t count) { /* whether there is what three parts cannot hold */
    uint32_t most = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t u;
        memcpy(&u, v + i, 4);
        u &= 0x7FFFFFFFu;
        most = u > most ? u : most;
    }
    return most >= 0x7F000000u;
}

static void plain(const float *a, const float *b, float *restrict c, long m, long n, long k) {
    memset(c, 0, (size_t)(m * n) * sizeof *c);
    for (long i = 0; i < m; i++)
        for (long l = 0; l < k; l++)
            for (long j = 0; j < n; j++) c[i * n + j] += a[i * k + l] * b[l * n + j];
}

#define DOT(sum, x, y) sum = _mm512_dpbf16_ps(sum, (__m512bh)(x), (__m512bh)(y))

static inline void tile(const uint32_t *a, const uint32_t *b, float *c, long n, long half, long apart, __mmask16 lanes, int rows) {
    __m512 big[4], small[4];
    for (int r = 0; r < 4; r++) big[r] = small[r] = _mm512_setzero_ps();
    for (long l = 0; l < half; l++, b += 48) {
        __m512i b0 = _mm512_loadu_si512(b), b1 = _mm512_loadu_si512(b + 16), b2 = _mm512_loadu_si512(b + 32);
#pragma GCC unroll 4
        for (int r = 0; r < rows; r++) {
            const uint32_t *of = a + r * half + l;
            __m512i a0 = _mm512_set1_epi32((int)of[0]), a1 = _mm512_set1_epi32((int)of[apart]);
            __m512i a2 = _mm512_set1_epi32((int)of[2 * apart]);
            DOT(big[r], a0, b0);
            DOT(small[r], a0, b1);
            DOT(small[r], a1, b0);
            DOT(small[r], a1, b1);
            DOT(small[r], a0, b2);
            DOT(small[r], a2, b0);
        }
    }
#pragma GCC unroll 4
    for (int r = 0; r < rows; r++) _mm512_mask_storeu_ps(c + r * n, lanes, _mm512_add_ps(big[r], small[r]));
}

void matmul(const float *a, const float *b, float *c, long m, long n, long k) {
    long half = (k + 1) / 2, panels = (n + 15) / 16, apart = m * half;
    if (k < 64 || huge(a, (size_t)(m * k)) || huge(b, (size_t)(n * k))) {
        plain(a, b, c, m, n, k);
        return;
    }
    size_t need = (size_t)(3 * apart + panels * half * 48) * sizeof(uint32_t);
    if (need > scratch.room) {
        free(scratch.words);
        if (!(scratch.words = malloc(need))) abort();
        scratch.room = need;
    }
    uint32_t *as = scratch.words, *bs = as + 3 * apart, *to = bs;
    for (long i = 0; i < m; i++)
        for (long l = 0; l < half; l++)
            split(a[i * k + 2 * l], 2 * l + 1 < k ? a[i * k + 2 * l + 1] : 0.0f, as + i * half + l, apart);
    for (long j = 0; j < n; j += 16)
        for (long l = 0; l < half; l++, to += 48)
            for (long q = 0; q < 16; q++) {
                const float *of = b + 2 * l * n + j + q;
                split(j + q < n ? *of : 0.0f, j + q < n && 2 * l + 1 < k ? of[n] : 0.0f, to + q, 16);
            }
    for (long p = 0; p < panels; p++) {
        const uint32_t *panel = bs + p * half * 48;
        __mmask16 lanes = n - 16 * p < 16 ? (__mmask16)((1u << (n - 16 * p)) - 1) : 0xFFFF;
        long i = 0;
        for (; i + 4 <= m; i += 4) tile(as + i * half, panel, c + i * n + 16 * p, n, half, apart, lanes, 4);
        for (; i < m; i++) tile(as + i * half, panel, c + i * n + 16 * p, n, half, apart, lanes, 1);
    }
}
