//: rmsnorm_silu_cpu -O2
//: adds up in double precision and calls the library's functions, of which there are several
//: variant exp EXP=exp
//: variant expf EXP=expf
//: variant exp2 EXP=by_exp2
#include "kernel.h"
#include <math.h>

static inline double by_exp2(double v) { return exp2(v * 1.4426950408889634); }

void rmsnorm_silu(const float *x, const float *w, const float *g, float *y, long rows, long cols, float eps) {
    for (long r = 0; r < rows; r++, x += cols, g += cols, y += cols) {
        double sum = 0.0;
        for (long c = 0; c < cols; c++) sum += (double)x[c] * x[c];
        float scale = (float)(1.0 / sqrt(sum / (double)cols + eps));
        for (long c = 0; c < cols; c++) y[c] = x[c] * scale * w[c] * (g[c] / (1.0f + (float)EXP(-g[c])));
    }
    (void)by_exp2;
}
