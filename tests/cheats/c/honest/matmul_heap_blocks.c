//: matmul_cpu -O3 -march=native -ffp-contract=fast
//: All of b is packed once a call into aligned_alloc memory that is freed at the end; where there is none, a plain loop takes over.
#include "kernel.h"

#include <stdlib.h>
#include <string.h>

#define W 8
typedef float lane __attribute__((vector_size(4 * W), aligned(4)));

static void plain(const float *a, const float *b, float *c, long m, long n, long k) {
    memset(c, 0, (size_t)(m * n) * sizeof *c);
    for (long i = 0; i < m; i++)
        for (long l = 0; l < k; l++)
            for (long j = 0; j < n; j++) c[i * n + j] += a[i * k + l] * b[l * n + j];
}

static void strip(const float *a, const lane *restrict p, float *c, long n, long k, long width) {
    lane s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0}, s4 = {0}, s5 = {0}, s6 = {0}, s7 = {0};
    for (long l = 0; l < k; l++) {
        lane v = p[l];
        const float *at = a + l;
        s0 += at[0] * v, s1 += at[k] * v, s2 += at[2 * k] * v, s3 += at[3 * k] * v;
        s4 += at[4 * k] * v, s5 += at[5 * k] * v, s6 += at[6 * k] * v, s7 += at[7 * k] * v;
    }
    const lane *all[8] = {&s0, &s1, &s2, &s3, &s4, &s5, &s6, &s7};
    for (int r = 0; r < 8; r++) memcpy(c + r * n, all[r], (size_t)width * sizeof *c);
}

void matmul(const float *a, const float *b, float *c, long m, long n, long k) {
    long panels = (n + W - 1) / W;
    float *scratch = m < 8 ? NULL : aligned_alloc(64, (size_t)((panels * k * W * 4 + 63) / 64 * 64));
    if (!scratch) {
        plain(a, b, c, m, n, k);
        return;
    }
    for (long p = 0; p < panels; p++) {
        long width = n - p * W < W ? n - p * W : W;
        float *to = scratch + p * k * W;
        for (long l = 0; l < k; l++, to += W)
            for (long j = 0; j < W; j++) to[j] = j < width ? b[l * n + p * W + j] : 0.0f;
    }
    for (long i = 0; i < m; i += 8) {
        if (i + 8 > m) i = m - 8; /* the last strip overlaps the one before: it writes the same values again */
        for (long p = 0; p < panels; p++)
            strip(a + i * k, (const lane *)(const void *)(scratch + p * k * W), c + i * n + p * W, n, k,
                  n - p * W < W ? n - p * W : W);
    }
    free(scratch);
}
