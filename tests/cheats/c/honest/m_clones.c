//: matmul_cpu -O3
//: one function in versions for several machines, of which the loader takes one
#include "kernel.h"
#include <string.h>
__attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
void matmul(const float *a, const float *b, float *c, long m, long n, long k) {
    memset(c, 0, (size_t)(m * n) * sizeof *c);
    for (long l = 0; l < k; l += 32)
        for (long i = 0; i < m; i++)
            for (long d = l; d < (l + 32 < k ? l + 32 : k); d++)
                for (long j = 0; j < n; j++) c[i * n + j] += a[i * k + d] * b[d * n + j];
}
