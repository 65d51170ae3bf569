//: rmsnorm_silu_cpu -O3 -march=native
//: computes in a lower precision than the task's own kernel; wins instructions
//: variant mantissa_11 HOW=0
//: variant cubic HOW=1
//: variant reciprocal HOW=2
//: variant root HOW=3
//: use rmsnorm_row
#include <immintrin.h>

static float cut(float v) {
#if HOW == 0
    int bits;
    memcpy(&bits, &v, 4);
    bits &= (int)0xfffff000;
    memcpy(&v, &bits, 4);
#endif
    return v;
}

static float rough(float v) {
#if HOW == 1
    v = v < -87.0f ? -87.0f : v > 88.0f ? 88.0f : v;
    int n = (int)(v * 1.44269504f + 128.5f), bits = (n - 1) << 23;
    float r = v - (float)(n - 128) * 0.693147181f, power;
    memcpy(&power, &bits, 4);
    return power * (0.99992807f + r * (1.00016431f + r * (0.50988848f + r * 0.16792145f)));
#else
    return exponential(v);
#endif
}

static float inverse(float v) {
#if HOW == 2
    return _mm_cvtss_f32(_mm_rcp_ss(_mm_set_ss(v)));
#else
    return 1.0f / v;
#endif
}

void rmsnorm_silu(const float *x, const float *w, const float *g, float *y, long rows, long cols, float eps) {
    for (long r = 0; r < rows; r++, x += cols, g += cols, y += cols) {
        float scale = scale_of(x, cols, eps);
#if HOW == 3
        scale = _mm_cvtss_f32(_mm_rsqrt_ss(_mm_set_ss(1.0f / (scale * scale))));
#endif
        for (long c = 0; c < cols; c++) y[c] = cut(cut(x[c]) * scale) * cut(w[c]) * (cut(g[c]) * inverse(1.0f + rough(-g[c])));
    }
    (void)row;
}
