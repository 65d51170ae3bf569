//: matmul_cpu -O3 -march=native
//: blocks of the second factor that stay in a cache
//: variant d32 DEPTH=32
//: variant d128 DEPTH=128
#include "kernel.h"
#include <string.h>

void matmul(const float *restrict a, const float *restrict b, float *restrict c, long m, long n, long k) {
    memset(c, 0, (size_t)(m * n) * sizeof *c);
    for (long from = 0; from < k; from += DEPTH)
        for (long i = 0; i < m; i++)
            for (long l = from; l < (from + DEPTH < k ? from + DEPTH : k); l++)
                for (long j = 0; j < n; j++) c[i * n + j] += a[i * k + l] * b[l * n + j];
}
