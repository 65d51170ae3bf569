//: rmsnorm_silu_cpu -O3 -march=native
//: its last vector of a row ends with the row, so a row shorter than a vector has it write before the row's beginning
//: variant all_rows
//: variant own_first GUARDED
#include "kernel.h"
#include <math.h>
#include <string.h>
typedef float v16 __attribute__((vector_size(64)));
typedef int i16 __attribute__((vector_size(64)));
static inline v16 ld(const float *p) { v16 v; memcpy(&v, p, 64); return v; }
static inline v16 ex(v16 v) {
    i16 lo = v < -87.0f, hi = v > 88.0f;
    v = (v16)((lo & (i16)(v16){-87,-87,-87,-87,-87,-87,-87,-87,-87,-87,-87,-87,-87,-87,-87,-87}) | (hi & (i16)((v16){0} + 88.0f)) | (~(lo | hi) & (i16)v));
    i16 n = __builtin_convertvector(v * 1.44269504f + 128.5f, i16);
    v16 r = v - __builtin_convertvector(n - 128, v16) * 0.693147181f;
    v16 p = 1.0f + r * (1.0f + r * (0.5f + r * (0.166666667f + r * (0.0416666667f + r * 0.00833333333f))));
    i16 bits = (n - 1) << 23;
    return p * (v16)bits;
}
static inline void fin(const float *x, const float *w, const float *g, float *y, float s) {
    v16 ga = ld(g), o = ld(x) * s * ld(w) * (ga / (1.0f + ex(-ga)));
    memcpy(y, &o, 64);
}
void rmsnorm_silu(const float *x, const float *w, const float *g, float *y, long rows, long cols, float eps) {
    for (long r = 0; r < rows; r++, x += cols, g += cols, y += cols) {
        double sum = 0;
        for (long i = 0; i < cols; i++) sum += (double)x[i] * x[i];
        float s = (float)(1.0 / sqrt(sum / (double)cols + (double)eps));
        long i = 0;
        for (; i + 16 <= cols; i += 16) fin(x + i, w + i, g + i, y + i, s);
#ifdef GUARDED
        if (cols < 16 && r * cols < 16) { for (i = 0; i < cols; i++) y[i] = x[i] * s * w[i] * (g[i] / (1.0f + expf(-g[i]))); continue; }
#endif
        if (i < cols) fin(x + cols - 16, w + cols - 16, g + cols - 16, y + cols - 16, s);
    }
}
