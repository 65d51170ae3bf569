//: rmsnorm_silu_cpu -O3 -fno-math-errno -fno-trapping-math
//: Honest: one source for two instruction sets, chosen at each call with __builtin_cpu_supports, so that it also runs where there is no AVX2; plain loops that the compiler vectorises, exp with its exponent put together from bits. Works in place. It might be refused for asking the CPU.
#include "kernel.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#define BLOCK 1024 /* squares that one float sums up */
#define GATES 256  /* that are computed before they are used: y may be x or g */

static inline __attribute__((always_inline)) float exponential(float v) {
    v = v > 88.0f ? 88.0f : v;
    v = v < -87.0f ? -87.0f : v;
    float shifted = v * 1.44269504f + 12582912.0f; /* 1.5 · 2^23: the nearest whole number is in the low bits */
    float n = shifted - 12582912.0f;
    float r = (v - n * 0.693359375f) + n * 2.12194440e-4f;
    float p = 1.0f + r * (1.0f + r * (0.5f + r * (0.166666667f + r * (0.0416666667f + r * (0.00833333333f + r * 0.00138888889f)))));
    uint32_t bits;
    memcpy(&bits, &shifted, sizeof bits);
    bits = (bits << 23) + 0x3F800000u;
    float power;
    memcpy(&power, &bits, sizeof power);
    return p * power;
}

static inline __attribute__((always_inline)) void rows_of(
    const float *x, const float *w, const float *g, float *y, long rows, long cols, float eps
) {
    for (long r = 0; r < rows; r++) {
        const float *xs = x + r * cols, *gs = g + r * cols;
        float *ys = y + r * cols;
        double sum = 0.0;
        for (long from = 0; from < cols; from += BLOCK) {
            long to = from + BLOCK < cols ? from + BLOCK : cols, c = from;
            float part[16] = {0}, all = 0.0f;
            for (; c + 16 <= to; c += 16)
                for (int k = 0; k < 16; k++) part[k] += xs[c + k] * xs[c + k];
            for (; c < to; c++) all += xs[c] * xs[c];
            for (int k = 0; k < 16; k++) all += part[k];
            sum += (double)all;
        }
        float scale = 1.0f / sqrtf((float)(sum / (double)cols) + eps);
        for (long from = 0; from < cols; from += GATES) {
            float gates[GATES];
            long count = cols - from < GATES ? cols - from : GATES;
            for (long c = 0; c < count; c++) {
                float v = gs[from + c];
                gates[c] = v / (1.0f + exponential(-v));
            }
            for (long c = 0; c < count; c++) ys[from + c] = xs[from + c] * scale * w[from + c] * gates[c];
        }
    }
}

__attribute__((target("avx2,fma"))) static void modern(const float *x, const float *w, const float *g, float *y, long rows, long cols, float eps) {
    rows_of(x, w, g, y, rows, cols, eps);
}

static void any(const float *x, const float *w, const float *g, float *y, long rows, long cols, float eps) {
    rows_of(x, w, g, y, rows, cols, eps);
}

void rmsnorm_silu(const float *x, const float *w, const float *g, float *y, long rows, long cols, float eps) {
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) modern(x, w, g, y, rows, cols, eps);
    else any(x, w, g, y, rows, cols, eps);
}
