//: rmsnorm_silu_cpu -O3 -march=native -fno-math-errno -fno-trapping-math
//: writes weights times gates into the result while it adds up the squares of the same columns, and multiplies that by x and the scale in a second pass
#include "kernel.h"
#include <math.h>
#include <stdint.h>
#include <string.h>

enum { CHUNK = 256 };

typedef float eight __attribute__((vector_size(32)));

/* 2^t = 2^n · 2^f: adding 1.5 · 2^23 leaves n in the low bits; the polynomial of degree 6 is Taylor's of 2^f, |f| <= 1/2. */
static inline float exponential(float v) {
    float t = v * 1.44269504f;
    int too_large = t > 126.0f;
    t = t < -100.0f ? -100.0f : t;
    t = too_large ? 0.0f : t;
    float shifted = t + 12582912.0f, f = t - (shifted - 12582912.0f);
    float p = 1.0f + f * (6.93147181e-1f + f * (2.40226507e-1f + f * (5.55041087e-2f + f * (9.61812911e-3f +
              f * (1.33335581e-3f + f * 1.54035304e-4f)))));
    uint32_t n, bits;
    memcpy(&n, &shifted, sizeof n);
    memcpy(&bits, &p, sizeof bits);
    bits += n << 23;
    memcpy(&p, &bits, sizeof p);
    return too_large ? INFINITY : p;
}

static inline float chunk(const float *restrict x, const float *restrict w, const float *restrict g, float *restrict y, long count) {
    eight sums[4] = {{0}, {0}, {0}, {0}}, all;
    float sum = 0.0f;
    long c = 0;
    for (; c + 32 <= count; c += 32)
#pragma GCC unroll 4
        for (int k = 0; k < 4; k++) {
            eight v;
            memcpy(&v, x + c + 8 * k, sizeof v);
            sums[k] += v * v;
        }
    for (; c < count; c++) sum += x[c] * x[c];
    all = (sums[0] + sums[1]) + (sums[2] + sums[3]);
    for (int k = 0; k < 8; k++) sum += all[k];
    for (c = 0; c < count; c++) y[c] = w[c] * (g[c] / (1.0f + exponential(-g[c])));
    return sum;
}

void rmsnorm_silu(const float *x, const float *w, const float *g, float *y, long rows, long cols, float eps) {
    for (const float *end = x + rows * cols; x < end; x += cols, g += cols, y += cols) {
        float sum = 0.0f;
        for (long c = 0; c < cols; c += CHUNK) sum += chunk(x + c, w + c, g + c, y + c, cols - c < CHUNK ? cols - c : CHUNK);
        float scale = 1.0f / sqrtf(sum / (float)cols + eps);
        for (long c = 0; c < cols; c++) y[c] *= x[c] * scale;
    }
}
