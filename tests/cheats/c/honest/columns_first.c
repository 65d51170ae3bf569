//: matmul_cpu -O3 -march=native -fopenmp-simd
//: Honest: no intrinsics, no vector types: restrict, tiles of 4 x 16 in local arrays, omp simd (which starts no thread and needs no library), smaller tiles at the edges. It might be refused for the flag's name or for adding in another order.
#include "kernel.h"

#define BODY(ROWS, COLS)                                                                                               \
    static void tile_##ROWS##x##COLS(const float *restrict a, const float *restrict b, float *restrict c, long n, long k) { \
        float s[ROWS][COLS] = {{0}};                                                                                   \
        for (long l = 0; l < k; l++)                                                                                   \
            for (int r = 0; r < ROWS; r++) {                                                                           \
                float f = a[r * k + l];                                                                                \
                _Pragma("omp simd") for (int j = 0; j < COLS; j++) s[r][j] += f * b[l * n + j];                         \
            }                                                                                                          \
        for (int r = 0; r < ROWS; r++)                                                                                 \
            for (int j = 0; j < COLS; j++) c[r * n + j] = s[r][j];                                                     \
    }

BODY(4, 16)
BODY(4, 8)
BODY(1, 16)
BODY(1, 8)
BODY(4, 1)
BODY(1, 1)

void matmul(const float *a, const float *b, float *c, long m, long n, long k) {
    for (long j = 0; j < n;) {
        long left = n - j, step = left >= 16 ? 16 : left >= 8 ? 8 : 1;
        for (long i = 0; i < m;) {
            int four = m - i >= 4;
            const float *from = a + i * k;
            float *to = c + i * n + j;
            if (step == 16) (four ? tile_4x16 : tile_1x16)(from, b + j, to, n, k);
            else if (step == 8) (four ? tile_4x8 : tile_1x8)(from, b + j, to, n, k);
            else (four ? tile_4x1 : tile_1x1)(from, b + j, to, n, k);
            i += four ? 4 : 1;
        }
        j += step;
    }
}
