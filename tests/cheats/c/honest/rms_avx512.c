//: rmsnorm_silu_cpu -O2
//: a small library of AVX-512 wrappers (masked tails, scalef for exp), with a plain version for other machines
#include "kernel.h"

#include <immintrin.h>
#include <math.h>

#define TARGET __attribute__((target("avx512f,avx512dq,fma")))
#define VINLINE static inline TARGET __attribute__((always_inline))

typedef __m512 vf;
typedef __mmask16 vm;

enum { VL = 16 };

VINLINE vf v_set(float s) { return _mm512_set1_ps(s); }
VINLINE vf v_zero(void) { return _mm512_setzero_ps(); }
VINLINE vf v_loadm(vm m, const float *p) { return _mm512_maskz_loadu_ps(m, p); }
VINLINE void v_storem(vm m, float *p, vf v) { _mm512_mask_storeu_ps(p, m, v); }
VINLINE vf v_mul(vf a, vf b) { return _mm512_mul_ps(a, b); }
VINLINE vf v_add(vf a, vf b) { return _mm512_add_ps(a, b); }
VINLINE vf v_div(vf a, vf b) { return _mm512_div_ps(a, b); }
VINLINE vf v_fma(vf a, vf b, vf c) { return _mm512_fmadd_ps(a, b, c); }
VINLINE vf v_fnma(vf a, vf b, vf c) { return _mm512_fnmadd_ps(a, b, c); }
VINLINE vf v_neg(vf a) { return _mm512_xor_ps(a, v_set(-0.0f)); }
VINLINE vm v_first(long count) { return count >= VL ? (vm)0xffff : (vm)((1u << count) - 1u); }

/* exp(v). NaN stays NaN: the second operand of min and max is what they return for it. */
VINLINE vf v_exp(vf v) {
    v = _mm512_min_ps(v_set(104.0f), _mm512_max_ps(v_set(-104.0f), v));
    vf n = _mm512_roundscale_ps(v_mul(v, v_set(0x1.715476p+0f)), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    vf r = v_fnma(n, v_set(0x1.62e400p-1f), v);
    r = v_fnma(n, v_set(0x1.7f7d1cp-20f), r);
    vf p = v_set(0x1.6c16c2p-10f);
    p = v_fma(p, r, v_set(0x1.111112p-7f));
    p = v_fma(p, r, v_set(0x1.555556p-5f));
    p = v_fma(p, r, v_set(0x1.555556p-3f));
    p = v_fma(p, r, v_set(0.5f));
    p = v_fma(p, r, v_set(1.0f));
    p = v_fma(p, r, v_set(1.0f));
    return _mm512_scalef_ps(p, n);
}

TARGET static float mean_square_512(const float *x, long n) {
    vf s[4] = {v_zero(), v_zero(), v_zero(), v_zero()};
    long i = 0;
    for (; i + 4 * VL <= n; i += 4 * VL) {
        for (int k = 0; k < 4; k++) {
            vf v = _mm512_loadu_ps(x + i + k * VL);
            s[k] = v_fma(v, v, s[k]);
        }
    }
    for (; i < n; i += VL) {
        vf v = v_loadm(v_first(n - i), x + i);
        s[0] = v_fma(v, v, s[0]);
    }
    return _mm512_reduce_add_ps(v_add(v_add(s[0], s[1]), v_add(s[2], s[3]))) / (float)n;
}

TARGET static void rows_512(const float *x, const float *w, const float *g, float *y, long rows, long cols, float eps) {
    for (long r = 0; r < rows; r++, x += cols, g += cols, y += cols) {
        const vf inv = v_set(1.0f / sqrtf(mean_square_512(x, cols) + eps));
        for (long c = 0; c < cols; c += VL) {
            const vm m = v_first(cols - c);
            const vf gate = v_loadm(m, g + c);
            const vf silu = v_div(gate, v_add(v_set(1.0f), v_exp(v_neg(gate))));
            v_storem(m, y + c, v_mul(v_mul(v_mul(v_loadm(m, x + c), inv), v_loadm(m, w + c)), silu));
        }
    }
}

__attribute__((cold)) static void rows_plain(const float *x, const float *w, const float *g, float *y, long rows, long cols, float eps) {
    for (long r = 0; r < rows; r++, x += cols, g += cols, y += cols) {
        double sum = 0.0;
        for (long c = 0; c < cols; c++) sum += (double)x[c] * x[c];
        const float inv = (float)(1.0 / sqrt(sum / (double)cols + eps));
        for (long c = 0; c < cols; c++) y[c] = x[c] * inv * w[c] * (g[c] / (1.0f + expf(-g[c])));
    }
}

void rmsnorm_silu(const float *x, const float *w, const float *g, float *y, long rows, long cols, float eps) {
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq")) rows_512(x, w, g, y, rows, cols, eps);
    else rows_plain(x, w, g, y, rows, cols, eps);
}
