//: rmsnorm_silu_cpu -O3 -march=native -fopenmp-simd -fno-math-errno -fno-trapping-math
//: Honest: exp by a table of 2^(i/256) that is filled at first use (under pthread_once) and a short polynomial, in plain loops under omp simd.
#include "kernel.h"

#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>

static float powers[256];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void prepare(void) {
    for (int i = 0; i < 256; i++) powers[i] = (float)exp2(i / 256.0);
}

static inline float exponential(float v) {
    v = v < -87.0f ? -87.0f : v;
    v = v > 88.0f ? 88.0f : v;
    float n = rintf(v * 369.329930f); /* 256 / ln 2 */
    float r = v - n * 2.70843506e-3f + n * 8.28884532e-7f; /* ln 2 / 256 in two parts */
    int32_t i = (int32_t)n;
    uint32_t bits;
    float base = powers[i & 255];
    memcpy(&bits, &base, sizeof bits);
    bits += (uint32_t)(i >> 8) << 23;
    float power;
    memcpy(&power, &bits, sizeof power);
    return power * (1.0f + r * (1.0f + 0.5f * r));
}

void rmsnorm_silu(const float *restrict x, const float *restrict w, const float *restrict g, float *y, long rows, long cols, float eps) {
    pthread_once(&once, prepare);
    for (long r = 0; r < rows; r++) {
        const float *of_x = x + r * cols, *of_g = g + r * cols;
        float *of_y = y + r * cols;
        double sum = 0.0;
        for (long from = 0; from < cols; from += 1024) {
            long to = from + 1024 < cols ? from + 1024 : cols;
            float part = 0.0f;
#pragma omp simd reduction(+ : part)
            for (long c = from; c < to; c++) part += of_x[c] * of_x[c];
            sum += part;
        }
        float scale = 1.0f / sqrtf((float)(sum / (double)cols) + eps);
#pragma omp simd
        for (long c = 0; c < cols; c++) of_y[c] = of_x[c] * scale * w[c] * (of_g[c] / (1.0f + exponential(-of_g[c])));
    }
}
