//: matmul_cpu -O3 -march=native
//: panels of 64 x 32 of b are copied to a fixed array on the stack, 12 rows of c at a time in registers, code for each count of rows made by macros, depth in blocks that add to c
#include "kernel.h"

#include <immintrin.h>
#include <string.h>

enum { DEPTH = 64, WIDE = 32 };

#define EACH_1(X) X(0)
#define EACH_2(X) EACH_1(X) X(1)
#define EACH_4(X) EACH_2(X) X(2) X(3)
#define EACH_12(X) EACH_4(X) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11)

#define ZERO(r) __m512 l##r = _mm512_setzero_ps(), h##r = l##r;
#define MULTIPLY(r)                                          \
    {                                                        \
        __m512 by = _mm512_set1_ps(a[(r) * k + d]);          \
        l##r = _mm512_fmadd_ps(by, low, l##r);               \
        h##r = _mm512_fmadd_ps(by, high, h##r);              \
    }
#define FINISH(r)                                                                                   \
    if (more) {                                                                                     \
        l##r = _mm512_add_ps(_mm512_maskz_loadu_ps(left, c + (r) * n), l##r);                       \
        if (right) h##r = _mm512_add_ps(_mm512_maskz_loadu_ps(right, c + (r) * n + 16), h##r);      \
    }                                                                                               \
    _mm512_mask_storeu_ps(c + (r) * n, left, l##r);                                                 \
    if (right) _mm512_mask_storeu_ps(c + (r) * n + 16, right, h##r);

/* `more`: c holds what the depth before gave. */
#define TILE(ROWS)                                                                                              \
    static void tile_##ROWS(                                                                                    \
        const float *a, const float *panel, float *c, long n, long k, long depth, __mmask16 left, __mmask16 right, int more \
    ) {                                                                                                         \
        EACH_##ROWS(ZERO)                                                                                       \
        for (long d = 0; d < depth; d++, panel += WIDE) {                                                       \
            __m512 low = _mm512_load_ps(panel), high = _mm512_load_ps(panel + 16);                              \
            EACH_##ROWS(MULTIPLY)                                                                               \
        }                                                                                                       \
        EACH_##ROWS(FINISH)                                                                                     \
    }
TILE(1)
TILE(2)
TILE(4)
TILE(12)

static inline __mmask16 lanes(long left) {
    return left >= 16 ? (__mmask16)0xFFFF : left > 0 ? (__mmask16)((1u << left) - 1) : (__mmask16)0;
}

void matmul(const float *a, const float *b, float *c, long m, long n, long k) {
    float panel[DEPTH * WIDE] __attribute__((aligned(64)));
    if (k <= 0) memset(c, 0, (size_t)(m * n) * sizeof *c);
    for (long l = 0; l < k; l += DEPTH) {
        long depth = k - l < DEPTH ? k - l : DEPTH;
        for (long j = 0; j < n; j += WIDE) {
            __mmask16 left = lanes(n - j), right = lanes(n - j - 16);
            for (long d = 0; d < depth; d++) {
                const float *from = b + (l + d) * n + j;
                _mm512_store_ps(panel + d * WIDE, _mm512_maskz_loadu_ps(left, from));
                _mm512_store_ps(panel + d * WIDE + 16, right ? _mm512_maskz_loadu_ps(right, from + 16) : _mm512_setzero_ps());
            }
            long i = 0;
#define RUN(ROWS) \
    for (; i + ROWS <= m; i += ROWS) tile_##ROWS(a + i * k + l, panel, c + i * n + j, n, k, depth, left, right, l > 0);
            RUN(12)
            RUN(4)
            RUN(2)
            RUN(1)
        }
    }
}
