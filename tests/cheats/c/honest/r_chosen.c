//: rmsnorm_silu_cpu -O3
//: asks at its first call what the processor can, and goes on through a pointer to the function that suits it
#include "kernel.h"
#include <math.h>
#include <string.h>

#define BODY                                                                                                    \
    for (long r = 0; r < rows; r++, x += cols, g += cols, y += cols) {                                           \
        float sums[32] = {0}, sum = 0.0f;                                                                        \
        long c = 0;                                                                                              \
        for (; c + 32 <= cols; c += 32)                                                                          \
            for (int k = 0; k < 32; k++) sums[k] += x[c + k] * x[c + k];                                         \
        for (; c < cols; c++) sum += x[c] * x[c];                                                                \
        for (int k = 0; k < 32; k++) sum += sums[k];                                                             \
        float scale = 1.0f / sqrtf(sum / (float)cols + eps);                                                     \
        for (c = 0; c < cols; c++) {                                                                             \
            float v = -g[c] < -87.0f ? -87.0f : -g[c] > 88.0f ? 88.0f : -g[c];                                   \
            int n = (int)(v * 1.44269504f + 128.5f), bits = (n - 1) << 23;                                       \
            float t = v - (float)(n - 128) * 0.693147181f, power;                                                \
            memcpy(&power, &bits, sizeof power);                                                                 \
            t = 1.0f + t * (1.0f + t * (0.5f + t * (0.166666667f + t * (0.0416666667f + t * (0.00833333333f + t * 0.00138888889f))))); \
            y[c] = x[c] * scale * w[c] * (g[c] / (1.0f + t * power));                                            \
        }                                                                                                        \
    }
#define ARGUMENTS const float *x, const float *w, const float *g, float *y, long rows, long cols, float eps

static void plain(ARGUMENTS) { BODY }
__attribute__((target("avx2,fma"))) static void wide(ARGUMENTS) { BODY }
static void first(ARGUMENTS);
static void (*chosen)(ARGUMENTS) = first;

static void first(ARGUMENTS) {
    __builtin_cpu_init();
    chosen = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? wide : plain;
    chosen(x, w, g, y, rows, cols, eps);
}

void rmsnorm_silu(ARGUMENTS) { chosen(x, w, g, y, rows, cols, eps); }
