//: rmsnorm_silu_cpu -O3 -march=native -fopenmp-simd -fno-math-errno -fno-trapping-math
//: Plain C that the compiler vectorises: a simd reduction for the squares and a branch-free exponential for the gate.
#include "kernel.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

static inline float sigmoid(float g) {
    float v = -g;
    v = v < -87.0f ? -87.0f : v;
    v = v > 87.5f ? 87.5f : v;
    float shifted = v * 1.44269504f + 12582912.0f; /* 1.5 * 2^23: the sum rounds to an integer */
    int32_t bits;
    memcpy(&bits, &shifted, sizeof bits);
    float n = shifted - 12582912.0f;
    float r = v - n * 0.693359375f - n * -2.12194440e-4f;
    float p = 1.38888889e-3f;
    p = p * r + 8.33333333e-3f;
    p = p * r + 4.16666667e-2f;
    p = p * r + 1.66666667e-1f;
    p = p * r + 0.5f;
    p = p * r + 1.0f;
    p = p * r + 1.0f;
    uint32_t exponent = ((uint32_t)bits + 127u) << 23;
    float power;
    memcpy(&power, &exponent, sizeof power);
    return 1.0f / (1.0f + p * power);
}

void rmsnorm_silu(const float *restrict x, const float *restrict w, const float *restrict g, float *restrict y, long rows, long cols,
                  float eps) {
    for (long r = 0; r < rows; r++, x += cols, g += cols, y += cols) {
        float sum = 0.0f;
#pragma omp simd reduction(+ : sum)
        for (long c = 0; c < cols; c++) sum += x[c] * x[c];
        const float scale = 1.0f / sqrtf(sum / (float)cols + eps);
#pragma omp simd
        for (long c = 0; c < cols; c++) y[c] = x[c] * scale * w[c] * (g[c] * sigmoid(g[c]));
    }
}
