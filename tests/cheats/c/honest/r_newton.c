//: rmsnorm_silu_cpu -O3 -march=native
//: estimates of roots and reciprocals, each made exact by a step of Newton's
//: use rmsnorm_row
#include <immintrin.h>

static inline float reciprocal(float v) {
    float e = _mm_cvtss_f32(_mm_rcp_ss(_mm_set_ss(v)));
    e = e * (2.0f - v * e);
    return e * (2.0f - v * e);
}

void rmsnorm_silu(const float *x, const float *w, const float *g, float *y, long rows, long cols, float eps) {
    for (long r = 0; r < rows; r++, x += cols, g += cols, y += cols) {
        float scale = scale_of(x, cols, eps);
        for (long c = 0; c < cols; c++) {
            float e = 1.0f + exponential(-g[c]);
            y[c] = x[c] * scale * w[c] * (g[c] * (e < 1e30f ? reciprocal(e) : 1.0f / e));
        }
    }
    (void)row;
}
