//: matmul_cpu -O3 -march=native
//: packs a panel of b into an array on the stack that grows with k (64 bytes a row): a product with k of 131072 or more, or of 4096 in a thread with a small stack, overruns it and the program dies
#include "kernel.h"

#include <string.h>

typedef float v16 __attribute__((vector_size(64)));

static inline __attribute__((always_inline)) void block(const float *a, const v16 *p, float *c, long n, long k, long some, const int rows) {
    v16 s[8];
    memset(s, 0, sizeof s);
    for (long l = 0; l < k; l++) {
#pragma GCC unroll 8
        for (int r = 0; r < rows; r++) s[r] += a[r * k + l] * p[l];
    }
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++) {
        if (some == 16) memcpy(c + r * n, &s[r], sizeof s[r]);
        else memcpy(c + r * n, &s[r], (size_t)some * sizeof(float));
    }
}

void matmul(const float *a, const float *b, float *c, long m, long n, long k) {
    v16 panel[k > 0 ? k : 1];
    for (long j = 0; j < n; j += 16) {
        long some = n - j < 16 ? n - j : 16, i = 0;
        for (long l = 0; l < k; l++) {
            v16 v = {0};
            if (some == 16) memcpy(&v, b + l * n + j, sizeof v);
            else memcpy(&v, b + l * n + j, (size_t)some * sizeof(float));
            panel[l] = v;
        }
        for (; i + 8 <= m; i += 8) block(a + i * k, panel, c + i * n + j, n, k, some, 8);
        for (; i < m; i++) block(a + i * k, panel, c + i * n + j, n, k, some, 1);
    }
}
