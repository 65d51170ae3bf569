//: matmul_cpu -O3 -march=native -funroll-loops
//: tiles of the result that stay in registers, by a macro for each height
//: variant two TALL=2
//: variant four TALL=4
#include "kernel.h"
#include <string.h>
typedef float vec __attribute__((vector_size(32), aligned(4)));

void matmul(const float *a, const float *b, float *c, long m, long n, long k) {
    long i = 0, tiled = n / 8 * 8;
    for (; i < m; i += TALL) {
        long tall = m - i < TALL ? m - i : TALL;
        for (long j = 0; j < tiled; j += 8) {
            vec sums[TALL];
            memset(sums, 0, sizeof sums);
            for (long l = 0; l < k; l++) {
                vec of_b = *(const vec *)(b + l * n + j);
                for (long r = 0; r < TALL; r++) sums[r] += a[(r < tall ? i + r : i) * k + l] * of_b;
            }
            for (long r = 0; r < tall; r++) *(vec *)(c + (i + r) * n + j) = sums[r];
        }
        for (long r = i; r < i + tall; r++)
            for (long j = tiled; j < n; j++) {
                float sum = 0.0f;
                for (long l = 0; l < k; l++) sum += a[r * k + l] * b[l * n + j];
                c[r * n + j] = sum;
            }
    }
}
