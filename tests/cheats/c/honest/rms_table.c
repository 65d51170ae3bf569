//: rmsnorm_silu_cpu -O3 -march=native
//: honest: exp from a constant table of 16 powers of two (vpermps) and a polynomial of degree 3 in a tiny rest, scaled by vscalefps; two rows of squares at once; plain C without AVX-512
#include "kernel.h"

#include <math.h>

#ifdef __AVX512F__
#include <immintrin.h>

/* exp(v) = 2^n · 2^(i/16) · exp(r), |r| <= ln(2)/32: the polynomial is good to 1e-8. */
static inline __m512 power(__m512 v) {
    const __m512 sixteenths = _mm512_setr_ps(
        1.0f, 1.0442737824f, 1.0905077327f, 1.1387886348f, 1.1892071150f, 1.2418578121f, 1.2968395547f, 1.3542555469f,
        1.4142135624f, 1.4768261459f, 1.5422108254f, 1.6104903319f, 1.6817928305f, 1.7562521604f, 1.8340080864f, 1.9152065614f);
    v = _mm512_min_ps(_mm512_set1_ps(90.0f), _mm512_max_ps(_mm512_set1_ps(-90.0f), v)); /* a NaN stays one */
    __m512 n = _mm512_roundscale_ps(_mm512_mul_ps(v, _mm512_set1_ps(23.083120654f)), 0);
    __m512 r = _mm512_fnmadd_ps(n, _mm512_set1_ps(0.04332160949707031f), v);
    r = _mm512_fnmadd_ps(n, _mm512_set1_ps(8.928929e-8f), r);
    __m512 p = _mm512_fmadd_ps(r, _mm512_set1_ps(0.16666667f), _mm512_set1_ps(0.5f));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1.0f));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1.0f));
    p = _mm512_mul_ps(p, _mm512_permutexvar_ps(_mm512_cvtps_epi32(n), sixteenths)); /* takes the index mod 16 */
    return _mm512_scalef_ps(p, _mm512_mul_ps(n, _mm512_set1_ps(0.0625f)));          /* rounds it down */
}

static inline __mmask16 first(long count) { return count >= 16 ? 0xFFFF : (__mmask16)((1u << count) - 1); }

static float mean_square(const float *x, long cols) {
    __m512 s[4];
    for (int k = 0; k < 4; k++) s[k] = _mm512_setzero_ps();
    long c = 0;
    for (; c + 64 <= cols; c += 64)
#pragma GCC unroll 4
        for (int k = 0; k < 4; k++) {
            __m512 v = _mm512_loadu_ps(x + c + 16 * k);
            s[k] = _mm512_fmadd_ps(v, v, s[k]);
        }
    for (; c < cols; c += 16) {
        __m512 v = _mm512_maskz_loadu_ps(first(cols - c), x + c);
        s[0] = _mm512_fmadd_ps(v, v, s[0]);
    }
    return _mm512_reduce_add_ps(_mm512_add_ps(_mm512_add_ps(s[0], s[1]), _mm512_add_ps(s[2], s[3]))) / (float)cols;
}

void rmsnorm_silu(const float *x, const float *w, const float *g, float *y, long rows, long cols, float eps) {
    for (long r = 0; r < rows; r++, x += cols, g += cols, y += cols) {
        __m512 scale = _mm512_set1_ps(1.0f / sqrtf(mean_square(x, cols) + eps));
        for (long c = 0; c < cols; c += 16) {
            __mmask16 m = first(cols - c);
            __m512 gate = _mm512_maskz_loadu_ps(m, g + c);
            __m512 silu = _mm512_div_ps(gate, _mm512_add_ps(_mm512_set1_ps(1.0f), power(_mm512_sub_ps(_mm512_setzero_ps(), gate))));
            __m512 v = _mm512_mul_ps(_mm512_mul_ps(_mm512_maskz_loadu_ps(m, x + c), scale), _mm512_maskz_loadu_ps(m, w + c));
            _mm512_mask_storeu_ps(y + c, m, _mm512_mul_ps(v, silu));
        }
    }
}

#else

void rmsnorm_silu(const float *x, const float *w, const float *g, float *y, long rows, long cols, float eps) {
    for (long r = 0; r < rows; r++, x += cols, g += cols, y += cols) {
        float lanes[16] = {0}, sum = 0.0f;
        long c = 0;
        for (; c + 16 <= cols; c += 16)
            for (int k = 0; k < 16; k++) lanes[k] += x[c + k] * x[c + k];
        for (; c < cols; c++) sum += x[c] * x[c];
        for (int k = 0; k < 16; k++) sum += lanes[k];
        float scale = 1.0f / sqrtf(sum / (float)cols + eps);
        for (c = 0; c < cols; c++) y[c] = x[c] * scale * w[c] * (g[c] / (1.0f + expf(-g[c])));
    }
}

#endif
