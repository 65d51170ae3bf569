//: matmul_cpu -O3
//: Honest: four rows of c at once in plain loops that the compiler vectorises, in clones for AVX2 and the base (target_clones, that is by an ifunc of the compiler's), static scratch for a block of c.
#include "kernel.h"

#include <string.h>

#define WIDE 64

static float sums[4][WIDE];

__attribute__((target_clones("arch=haswell", "default"))) static void block(const float *a, const float *b, long n, long k) {
    float s[4][WIDE];
    memset(s, 0, sizeof s);
    for (long l = 0; l < k; l++) {
        const float *row = b + l * n;
        float a0 = a[l], a1 = a[k + l], a2 = a[2 * k + l], a3 = a[3 * k + l];
        for (int j = 0; j < WIDE; j++) {
            s[0][j] += a0 * row[j];
            s[1][j] += a1 * row[j];
            s[2][j] += a2 * row[j];
            s[3][j] += a3 * row[j];
        }
    }
    memcpy(sums, s, sizeof s);
}

static void rest(const float *a, const float *b, float *c, long n, long k, long from, long to) {
    memset(c + from, 0, (size_t)(to - from) * sizeof *c);
    for (long l = 0; l < k; l++)
        for (long j = from; j < to; j++) c[j] += a[l] * b[l * n + j];
}

void matmul(const float *a, const float *b, float *c, long m, long n, long k) {
    long i = 0, blocked = n - n % WIDE;
    for (; i + 4 <= m; i += 4) {
        for (long j = 0; j < blocked; j += WIDE) {
            block(a + i * k, b + j, n, k);
            for (int r = 0; r < 4; r++) memcpy(c + (i + r) * n + j, sums[r], sizeof sums[r]);
        }
        for (int r = 0; r < 4; r++) rest(a + (i + r) * k, b, c + (i + r) * n, n, k, blocked, n);
    }
    for (; i < m; i++) rest(a + i * k, b, c + i * n, n, k, 0, n);
}
