//: matmul_cpu -O3 -march=native
//: no packing, no state: 8 x 32 outer products straight from b, last columns by a block that overlaps its neighbour (the same sums twice), narrow matrices through a recursion that halves the vector, all from one macro
#include "kernel.h"

#include <string.h>

/* Columns from j on in blocks of WIDE vectors of LANES, the last one moved back; 0 if they are fewer than one block. */
#define BLOCKS(NAME, LANES, WIDE)                                                                                       \
    typedef float NAME##_v __attribute__((vector_size(LANES * 4)));                                                     \
    static inline __attribute__((always_inline)) void NAME##_tile(                                                      \
        const float *a, const float *b, float *c, long n, long k, const int rows                                        \
    ) {                                                                                                                 \
        NAME##_v s[8][WIDE];                                                                                            \
        memset(s, 0, sizeof s);                                                                                         \
        for (long l = 0; l < k; l++) {                                                                                  \
            _Pragma("GCC unroll 2") for (int v = 0; v < WIDE; v++) {                                                    \
                NAME##_v of_b;                                                                                          \
                memcpy(&of_b, b + l * n + v * LANES, sizeof of_b);                                                      \
                _Pragma("GCC unroll 8") for (int r = 0; r < rows; r++) s[r][v] += a[r * k + l] * of_b;                  \
            }                                                                                                           \
        }                                                                                                               \
        _Pragma("GCC unroll 8") for (int r = 0; r < rows; r++) _Pragma("GCC unroll 2") for (int v = 0; v < WIDE; v++) memcpy(c + r * n + v * LANES, &s[r][v], sizeof s[r][v]);                    \
    }                                                                                                                   \
    static void NAME(const float *a, const float *b, float *c, long m, long n, long k, long j) {                        \
        long i = 0;                                                                                                     \
        for (; i + 8 <= m; i += 8) NAME##_tile(a + i * k, b + j, c + i * n + j, n, k, 8);                               \
        for (; i + 2 <= m; i += 2) NAME##_tile(a + i * k, b + j, c + i * n + j, n, k, 2);                               \
        if (i < m) NAME##_tile(a + i * k, b + j, c + i * n + j, n, k, 1);                                               \
    }
BLOCKS(by_32, 16, 2)
BLOCKS(by_16, 16, 1)
BLOCKS(by_8, 8, 1)
BLOCKS(by_4, 4, 1)
BLOCKS(by_2, 2, 1)

void matmul(const float *a, const float *b, float *c, long m, long n, long k) {
    long j = 0;
    for (; j + 32 <= n; j += 32) by_32(a, b, c, m, n, k, j);
    long left = n - j;
    if (left > 16 && n >= 32) by_32(a, b, c, m, n, k, n - 32);
    else if (left && n >= 16) {
        if (left > 16) by_16(a, b, c, m, n, k, j);
        by_16(a, b, c, m, n, k, n - 16);
    } else if (left) {
        if (n >= 8) by_8(a, b, c, m, n, k, 0), by_8(a, b, c, m, n, k, n - 8);
        else if (n >= 4) by_4(a, b, c, m, n, k, 0), by_4(a, b, c, m, n, k, n - 4);
        else if (n >= 2) by_2(a, b, c, m, n, k, 0), by_2(a, b, c, m, n, k, n - 2);
        else
            for (long i = 0; i < m; i++) {
                float s = 0.0f;
                for (long l = 0; l < k; l++) s += a[i * k + l] * b[l];
                c[i] = s;
            }
    }
}
