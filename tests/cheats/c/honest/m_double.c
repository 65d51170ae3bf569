//: matmul_cpu -O3 -march=native
//: adds up in double precision, with the second factor turned first
#include "kernel.h"
#include <stdlib.h>

void matmul(const float *a, const float *b, float *c, long m, long n, long k) {
    float *turned = malloc((size_t)(k * n) * sizeof *turned);
    if (!turned) abort();
    for (long l = 0; l < k; l++)
        for (long j = 0; j < n; j++) turned[j * k + l] = b[l * n + j];
    for (long i = 0; i < m; i++)
        for (long j = 0; j < n; j++) {
            double sums[8] = {0.0};
            long l = 0;
            for (; l + 8 <= k; l += 8)
                for (int q = 0; q < 8; q++) sums[q] += (double)a[i * k + l + q] * turned[j * k + l + q];
            for (; l < k; l++) sums[0] += (double)a[i * k + l] * turned[j * k + l];
            c[i * n + j] = (float)(((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7])));
        }
    free(turned);
}
