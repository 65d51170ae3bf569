//: rmsnorm_silu_cpu -O3 -march=native
//: Uses y as scratch: the first pass writes w * silu(g) into y while it adds up the squares, the second multiplies it by x * scale. Right where y is a buffer of its own, wrong in place (y = x), which the contract does not exclude (it does in matmul and transpose) and the incumbent does right.
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


static inline void row(const float *x, const float *w, const float *g, float *y, long cols, float eps) {
    v8 s[2] = {0};
    float sum = 0.0f;
    long c = 0;
    for (; c + 16 <= cols; c += 16)
        for (int u = 0; u < 2; u++) {
            v8 v = ld(x + c + u * 8);
            s[u] += v * v;
            st(y + c + u * 8, ld(w + c + u * 8) * silu(ld(g + c + u * 8)));
        }
    for (; c < cols; c++) {
        sum += x[c] * x[c];
        y[c] = w[c] * silu1(g[c]);
    }
    s[0] += s[1];
    for (int k = 0; k < 8; k++) sum += s[0][k];
    float scale = 1.0f / sqrtf(sum / (float)cols + eps);
    for (c = 0; c + 8 <= cols; c += 8) st(y + c, ld(x + c) * scale * ld(y + c));
    for (; c < cols; c++) y[c] = x[c] * scale * y[c];
}

void rmsnorm_silu(const float *x, const float *w, const float *g, float *y, long rows, long cols, float eps) {
    for (long r = 0; r < rows; r++) row(x + r * cols, w, g + r * cols, y + r * cols, cols, eps);
}
