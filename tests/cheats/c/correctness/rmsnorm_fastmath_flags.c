//: rmsnorm_silu_cpu -O3 -march=native -ffast-math
//: Plain loops whose speed comes from -ffast-math: linked with it, loading the object makes the whole process flush denormal numbers, and infinities and NaN among the inputs may come out as ordinary numbers.
#include "kernel.h"

#include <math.h>
#include <string.h>

static inline float exponential(float v) {
    v = v > 88.0f ? 88.0f : v < -87.0f ? -87.0f : v;
    float n = floorf(v * 1.44269504f + 0.5f);
    float r = v - n * 0.693359375f + n * 2.12194440e-4f;
    float p = 1.0f + r * (1.0f + r * (0.5f + r * (0.166666667f + r * (0.0416666667f + r * (0.00833333333f + r * 0.00138888889f)))));
    int bits = ((int)n + 127) << 23;
    float power;
    memcpy(&power, &bits, sizeof power);
    return p * power;
}

void rmsnorm_silu(const float *restrict x, const float *restrict w, const float *restrict g, float *restrict y, long rows, long cols,
                  float eps) {
    for (long r = 0; r < rows; r++, x += cols, g += cols, y += cols) {
        float sum = 0.0f;
        for (long c = 0; c < cols; c++) sum += x[c] * x[c];
        float scale = 1.0f / sqrtf(sum / (float)cols + eps);
        for (long c = 0; c < cols; c++) y[c] = x[c] * scale * w[c] * (g[c] / (1.0f + exponential(-g[c])));
    }
}
