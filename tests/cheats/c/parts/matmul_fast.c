#include "kernel.h"
#include <string.h>

static void fast(const float *a, const float *b, float *c, long m, long n, long k) {
    memset(c, 0, (size_t)(m * n) * sizeof *c);
    for (long i = 0; i < m; i++)
        for (long l = 0; l < k; l++) {
            float of_a = a[i * k + l];
            for (long j = 0; j < n; j++) c[i * n + j] += of_a * b[l * n + j];
        }
}
