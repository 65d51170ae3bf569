//: rmsnorm_silu_cpu -O3 -march=native -fno-math-errno -fno-trapping-math
//: aligned memory from the library, given back at the end of each call
//: use rmsnorm_row
#include <stdlib.h>

void rmsnorm_silu(const float *x, const float *w, const float *g, float *y, long rows, long cols, float eps) {
    float *scales = aligned_alloc(64, ((size_t)rows * 4 + 63) / 64 * 64);
    if (!scales) abort();
    for (long r = 0; r < rows; r++) scales[r] = scale_of(x + r * cols, cols, eps);
    for (long r = 0; r < rows; r++, x += cols, g += cols, y += cols)
        for (long c = 0; c < cols; c++) y[c] = x[c] * scales[r] * w[c] * (g[c] / (1.0f + exponential(-g[c])));
    free(scales);
    (void)row;
}
