//: matmul_cpu -O3 -march=native
//: dot products of a row and a turned column, KEPT in an array whose size is a product of two macros
#include "kernel.h"
#define LONGEST 1024
#define ACROSS 4

static inline float dot(const float *restrict a, const float *restrict b, long k) {
    float sums[8 * 2] = {0};
    long l = 0;
    for (; l + 16 <= k; l += 16)
        for (int q = 0; q < 16; q++) sums[q] += a[l + q] * b[l + q];
    float sum = 0.0f;
    for (; l < k; l++) sum += a[l] * b[l];
    for (int q = 0; q < 16; q++) sum += sums[q];
    return sum;
}

void matmul(const float *a, const float *b, float *c, long m, long n, long k) {
    static float turned[LONGEST * ACROSS];
    for (long j = 0; j < n; j += ACROSS) {
        long wide = n - j < ACROSS ? n - j : ACROSS;
        if (k > LONGEST) {
            for (long i = 0; i < m; i++)
                for (long x = j; x < j + wide; x++) {
                    float sum = 0.0f;
                    for (long l = 0; l < k; l++) sum += a[i * k + l] * b[l * n + x];
                    c[i * n + x] = sum;
                }
            continue;
        }
        for (long l = 0; l < k; l++)
            for (long x = 0; x < wide; x++) turned[x * k + l] = b[l * n + j + x];
        for (long i = 0; i < m; i++)
            for (long x = 0; x < wide; x++) c[i * n + j + x] = dot(a + i * k, turned + x * k, k);
    }
}
