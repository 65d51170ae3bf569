//: rmsnorm_silu_cpu -O3 -march=native
//: Knows that eps is a power of ten from 1e-1 to 1e-6 and goes by the nearest (a table with what depends on eps): right for every eps that the harness draws, wrong for a user's 1e-8, 3e-2 or 0.
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

static const float epsilons[] = {1e-1f, 1e-2f, 1e-3f, 1e-4f, 1e-5f, 1e-6f};

/* The mean below which eps counts at all: the others go without. */
static const float least[] = {1.1e4f, 1.1e3f, 1.1e2f, 1.1e1f, 1.1f, 1.1e-1f};

static inline int rank(float eps) {
    int at = 0;
    while (at < 5 && eps < 0.32f * epsilons[at]) at++;
    return at;
}

static inline void row(const float *x, const float *w, const float *g, float *y, long cols, int at) {
    float mean = mean_square(x, cols), scale = 1.0f / sqrtf(mean < least[at] ? mean + epsilons[at] : mean);
    long c = 0;
    for (; c + 8 <= cols; c += 8) st(y + c, ld(x + c) * scale * ld(w + c) * silu(ld(g + c)));
    for (; c < cols; c++) y[c] = x[c] * scale * w[c] * silu1(g[c]);
}

void rmsnorm_silu(const float *x, const float *w, const float *g, float *y, long rows, long cols, float eps) {
    int at = rank(eps);
    for (long r = 0; r < rows; r++) row(x + r * cols, w, g + r * cols, y + r * cols, cols, at);
}
