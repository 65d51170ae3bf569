//: matmul_cpu -O3 -march=native -funroll-loops
//: Honest: GCC vector extensions, 4 x 16 tiles straight from b, narrower tiles (8, 4, 1) for what is left; no scratch at all.
#include "kernel.h"

#include <string.h>

typedef float v8 __attribute__((vector_size(32)));
typedef float v4 __attribute__((vector_size(16)));

#define TILE(NAME, V, LANES, COUNT)                                                                       \
    static inline __attribute__((always_inline)) void NAME(                                               \
        const float *a, const float *b, float *c, long n, long k, const int rows                          \
    ) {                                                                                                   \
        V sum[4][COUNT];                                                                                  \
        memset(sum, 0, sizeof sum);                                                                       \
        for (long l = 0; l < k; l++) {                                                                    \
            V from[COUNT];                                                                                \
            memcpy(from, b + l * n, sizeof from);                                                         \
            for (int r = 0; r < rows; r++)                                                                \
                for (int q = 0; q < COUNT; q++) sum[r][q] += a[r * k + l] * from[q];                      \
        }                                                                                                 \
        for (int r = 0; r < rows; r++) memcpy(c + r * n, sum[r], COUNT * LANES * sizeof(float));          \
    }

TILE(tile16, v8, 8, 2)
TILE(tile8, v8, 8, 1)
TILE(tile4, v4, 4, 1)
TILE(tile1, float, 1, 1)

static inline __attribute__((always_inline)) void strip(const float *a, const float *b, float *c, long n, long k, const int rows) {
    long j = 0;
    for (; j + 16 <= n; j += 16) tile16(a, b + j, c + j, n, k, rows);
    if (j + 8 <= n) {
        tile8(a, b + j, c + j, n, k, rows);
        j += 8;
    }
    if (j + 4 <= n) {
        tile4(a, b + j, c + j, n, k, rows);
        j += 4;
    }
    for (; j < n; j++) tile1(a, b + j, c + j, n, k, rows);
}

void matmul(const float *a, const float *b, float *c, long m, long n, long k) {
    long i = 0;
    for (; i + 4 <= m; i += 4) strip(a + i * k, b, c + i * n, n, k, 4);
    for (; i < m; i++) strip(a + i * k, b, c + i * n, n, k, 1);
}
