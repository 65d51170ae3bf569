//: conv2d_cpu -O3 -march=native
//: walks down strips of 16 columns: each row of x is read once and added to the five rows of y that it belongs to, whose sums wait in a ring of registers that turns by name in code unrolled five times; masked edges
#include "kernel.h"

#include <immintrin.h>

#define STORE_OLDEST(sum)                              \
    if (r >= SIZE - 1) {                               \
        _mm512_mask_storeu_ps(y, m, sum);              \
        y += cols;                                     \
    }

#define ADD(sum, i)                                                     \
    sum = _mm512_fmadd_ps(_mm512_set1_ps(w[(i) * SIZE]), v0, sum);      \
    sum = _mm512_fmadd_ps(_mm512_set1_ps(w[(i) * SIZE + 1]), v1, sum);  \
    sum = _mm512_fmadd_ps(_mm512_set1_ps(w[(i) * SIZE + 2]), v2, sum);  \
    sum = _mm512_fmadd_ps(_mm512_set1_ps(w[(i) * SIZE + 3]), v3, sum);  \
    sum = _mm512_fmadd_ps(_mm512_set1_ps(w[(i) * SIZE + 4]), v4, sum);

/* A row of x is row 4 of the filter for the oldest sum, and row 0 for the newest, which begins here. */
#define ROW(s4, s3, s2, s1, s0)                                                               \
    {                                                                                         \
        if (r == high) break;                                                                 \
        __m512 v0 = _mm512_maskz_loadu_ps(m, x), v1 = _mm512_maskz_loadu_ps(m, x + 1);        \
        __m512 v2 = _mm512_maskz_loadu_ps(m, x + 2), v3 = _mm512_maskz_loadu_ps(m, x + 3);    \
        __m512 v4 = _mm512_maskz_loadu_ps(m, x + 4);                                          \
        s0 = _mm512_setzero_ps();                                                             \
        ADD(s4, 4)                                                                            \
        ADD(s3, 3)                                                                            \
        ADD(s2, 2)                                                                            \
        ADD(s1, 1)                                                                            \
        ADD(s0, 0)                                                                            \
        STORE_OLDEST(s4)                                                                      \
        x += wide;                                                                            \
        r++;                                                                                  \
    }

static void strip(const float *x, const float *w, float *y, long rows, long cols, __mmask16 m) {
    long wide = cols + SIZE - 1, high = rows + SIZE - 1, r = 0;
    __m512 a = _mm512_setzero_ps(), b = a, c = a, d = a, e = a;
    for (;;) {
        ROW(a, b, c, d, e)
        ROW(b, c, d, e, a)
        ROW(c, d, e, a, b)
        ROW(d, e, a, b, c)
        ROW(e, a, b, c, d)
    }
}

void conv2d(const float *x, const float *w, float *y, long planes, long rows, long cols) {
    for (long p = 0; p < planes; p++) {
        for (long c = 0; c < cols; c += 16) {
            __mmask16 m = cols - c < 16 ? (__mmask16)((1u << (cols - c)) - 1) : (__mmask16)0xFFFF;
            strip(x + c, w, y + c, rows, cols, m);
        }
        x += (rows + SIZE - 1) * (cols + SIZE - 1);
        w += SIZE * SIZE;
        y += rows * cols;
    }
}
