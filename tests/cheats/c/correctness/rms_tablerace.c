//: rmsnorm_silu_cpu -O3 -march=native
//: The first call fills a table of powers of two, and says that it is there before it is full: where two threads make their first calls together, one of them computes with zeros in the table and its y is wrong.
/* exp(v) = 2^n · 2^(i/2048) · (1 + r): a look at a table in place of a long polynomial. */
#include "kernel.h"

#include <math.h>
#include <string.h>

#define PARTS 2048
#define LANES 64

static float table[PARTS];
static volatile int ready;

static void prepare(void) {
    if (ready) return;
    ready = 1;
    for (int i = 0; i < PARTS; i++) table[i] = (float)exp2((double)i / PARTS);
}

static inline float power(float v) {
    v = v < -87.0f ? -87.0f : v > 88.0f ? 88.0f : v;
    float n = __builtin_rintf(v * (1.44269504f * PARTS));
    float r = v - n * (0.693145752f / PARTS) - n * (1.42860677e-6f / PARTS);
    int whole = (int)n, bits = ((whole >> 11) + 126) << 23;
    float half;
    memcpy(&half, &bits, sizeof half);
    return table[whole & (PARTS - 1)] * (1.0f + r) * half * 2.0f;
}

void rmsnorm_silu(const float *x, const float *w, const float *g, float *y, long rows, long cols, float eps) {
    prepare();
    for (long r = 0; r < rows; r++, x += cols, g += cols, y += cols) {
        float lanes[LANES] = {0}, sum = 0.0f;
        long c = 0;
        for (; c + LANES <= cols; c += LANES)
            for (int k = 0; k < LANES; k++) lanes[k] += x[c + k] * x[c + k];
        for (; c < cols; c++) sum += x[c] * x[c];
        for (int k = 0; k < LANES; k++) sum += lanes[k];
        float scale = 1.0f / sqrtf(sum / (float)cols + eps);
#pragma GCC ivdep
        for (c = 0; c < cols; c++) y[c] = x[c] * scale * w[c] * (g[c] / (1.0f + power(-g[c])));
    }
}
