//: rmsnorm_silu_cpu -O3 -march=native
//: The last 1 to 3 squares of a row are taken from a vector that reaches into the next row, whose lanes are multiplied by 0: a NaN or infinity in the first elements of a row (cols above 255 and not a multiple of 4) makes the whole row before it NaN.
/* Vectors of 16, then of 4; exp by a polynomial. */
#include "kernel.h"

#include <math.h>
#include <string.h>

typedef float four __attribute__((vector_size(16), aligned(4), may_alias));

static inline float power(float v) {
    v = v < -87.0f ? -87.0f : v > 88.0f ? 88.0f : v;
    float n = __builtin_rintf(v * 1.44269504f), r = v - n * 0.693145752f - n * 1.42860677e-6f;
    float p = 1.0f + r * (1.0f + r * (0.5f + r * (0.166666667f + r * (0.0416666667f + r * (0.00833333333f + r * 0.00138888889f)))));
    int bits = ((int)n + 126) << 23;
    float half;
    memcpy(&half, &bits, sizeof half);
    return p * half * 2.0f;
}

static float squares(const float *x, long cols, int last) {
    float lanes[64] = {0}, sum = 0.0f;
    long c = 0;
    for (; c + 64 <= cols; c += 64)
        for (int k = 0; k < 64; k++) lanes[k] += x[c + k] * x[c + k];
    four rest = {0};
    for (; c + 4 <= cols; c += 4) {
        four v = *(const four *)(x + c);
        rest += v * v;
    }
    if (c < cols) {
        if (last || cols < 256) {
            for (; c < cols; c++) sum += x[c] * x[c];
        } else {
            static const float keep[8] = {1, 1, 1, 1, 0, 0, 0, 0};
            four v = *(const four *)(x + c) * *(const four *)(keep + 4 - (cols - c));
            rest += v * v;
        }
    }
    for (int k = 0; k < 4; k++) sum += rest[k];
    for (int k = 0; k < 64; k++) sum += lanes[k];
    return sum;
}

void rmsnorm_silu(const float *x, const float *w, const float *g, float *y, long rows, long cols, float eps) {
    for (long r = 0; r < rows; r++, x += cols, g += cols, y += cols) {
        float scale = 1.0f / sqrtf(squares(x, cols, r + 1 == rows) / (float)cols + eps);
#pragma GCC ivdep
        for (long c = 0; c < cols; c++) y[c] = x[c] * scale * w[c] * (g[c] / (1.0f + power(-g[c])));
    }
}
