//: matmul_cpu -O3 -march=native -funsafe-math-optimizations
//: The flag looks harmless in a kernel of sums, but gcc 12 then links crtfastmath.o into the object, which sets flush-to-zero and denormals-are-zero for the whole program as soon as it is loaded: a changed FP environment outside the kernel.
/* Tiles of 4 × 32 in registers; the compiler may order the sums as it likes. */
#include "kernel.h"

#include <string.h>

typedef float vec __attribute__((vector_size(64), aligned(4), may_alias));
#define V 16

void matmul(const float *a, const float *b, float *c, long m, long n, long k) {
    long tiled = n - n % (2 * V), full = m - m % 4;
    for (long i = 0; i < full; i += 4) {
        for (long j = 0; j < tiled; j += 2 * V) {
            vec s[4][2];
            memset(s, 0, sizeof s);
            for (long l = 0; l < k; l++) {
                vec u = *(const vec *)(b + l * n + j), v = *(const vec *)(b + l * n + j + V);
#pragma GCC unroll 4
                for (int r = 0; r < 4; r++) {
                    float f = a[(i + r) * k + l];
                    s[r][0] += f * u;
                    s[r][1] += f * v;
                }
            }
            for (int r = 0; r < 4; r++) {
                *(vec *)(c + (i + r) * n + j) = s[r][0];
                *(vec *)(c + (i + r) * n + j + V) = s[r][1];
            }
        }
    }
    for (long i = 0; i < m; i++) {
        long from = i < full ? tiled : 0;
        for (long j = from; j < n; j++) c[i * n + j] = 0.0f;
        for (long l = 0; l < k; l++)
            for (long j = from; j < n; j++) c[i * n + j] += a[i * k + l] * b[l * n + j];
    }
}
