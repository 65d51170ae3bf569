//: rmsnorm_silu_cpu -O3 -march=native
//: Honest: exp by a table of 32 powers of two (gathers) and a short polynomial, the sum of squares in double in parts; NaN stays NaN; gates below -88 give next to nothing instead of nothing (as EXP_POLY of the incumbent does).
#include "kernel.h"

#include <immintrin.h>
#include <math.h>

static const float powers[32] = {
    1.00000000f, 1.02189720f, 1.04427373f, 1.06714046f, 1.09050775f, 1.11438680f, 1.13878858f, 1.16372490f,
    1.18920708f, 1.21524739f, 1.24185777f, 1.26905096f, 1.29683959f, 1.32523668f, 1.35425556f, 1.38390994f,
    1.41421354f, 1.44518077f, 1.47682619f, 1.50916445f, 1.54221082f, 1.57598090f, 1.61049032f, 1.64575553f,
    1.68179286f, 1.71861935f, 1.75625217f, 1.79470909f, 1.83400810f, 1.87416768f, 1.91520655f, 1.95714414f,
};

/* exp(v) = 2^(n / 32) * exp(r), |r| <= ln(2) / 64: of n the lower 5 bits are looked up, the others go into the exponent. */
static inline __m256 exponential(__m256 v) {
    v = _mm256_min_ps(_mm256_set1_ps(88.3f), _mm256_max_ps(_mm256_set1_ps(-87.3f), v)); /* NaN comes second: it stays */
    __m256 n = _mm256_round_ps(_mm256_mul_ps(v, _mm256_set1_ps(46.1662413f)), 8);
    __m256 r = _mm256_fnmadd_ps(n, _mm256_set1_ps(0.0216608495f), v);
    r = _mm256_fnmadd_ps(n, _mm256_set1_ps(-5.95204476e-11f), r);
    __m256i whole = _mm256_cvtps_epi32(n), low = _mm256_and_si256(whole, _mm256_set1_epi32(31));
    __m256 power = _mm256_i32gather_ps(powers, low, 4);
    __m256i up = _mm256_slli_epi32(_mm256_srai_epi32(whole, 5), 23);
    __m256 p = _mm256_fmadd_ps(r, _mm256_set1_ps(0.166666667f), _mm256_set1_ps(0.5f));
    p = _mm256_fmadd_ps(_mm256_mul_ps(r, r), p, _mm256_add_ps(r, _mm256_set1_ps(1.0f)));
    return _mm256_mul_ps(p, _mm256_castsi256_ps(_mm256_add_epi32(_mm256_castps_si256(power), up)));
}

static float mean_square(const float *x, long cols) {
    double sum = 0.0;
    long c = 0;
    while (c + 8 <= cols) {
        __m256 part = _mm256_setzero_ps();
        for (long end = c + 1024; c + 8 <= cols && c < end; c += 8) {
            __m256 v = _mm256_loadu_ps(x + c);
            part = _mm256_fmadd_ps(v, v, part);
        }
        float lanes[8];
        _mm256_storeu_ps(lanes, part);
        for (int k = 0; k < 8; k++) sum += lanes[k];
    }
    for (; c < cols; c++) sum += x[c] * x[c];
    return (float)(sum / (double)cols);
}

void rmsnorm_silu(const float *x, const float *w, const float *g, float *y, long rows, long cols, float eps) {
    for (long r = 0; r < rows; r++, x += cols, g += cols, y += cols) {
        float scale = 1.0f / sqrtf(mean_square(x, cols) + eps);
        long c = 0;
        for (; c + 8 <= cols; c += 8) {
            __m256 gate = _mm256_loadu_ps(g + c);
            __m256 below = _mm256_add_ps(_mm256_set1_ps(1.0f), exponential(_mm256_xor_ps(gate, _mm256_set1_ps(-0.0f))));
            __m256 all = _mm256_mul_ps(_mm256_mul_ps(_mm256_loadu_ps(x + c), _mm256_set1_ps(scale)), _mm256_loadu_ps(w + c));
            _mm256_storeu_ps(y + c, _mm256_mul_ps(all, _mm256_div_ps(gate, below)));
        }
        for (; c < cols; c++) y[c] = x[c] * scale * w[c] * (g[c] / (1.0f + expf(-g[c])));
    }
}
