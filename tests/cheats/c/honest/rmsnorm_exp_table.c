//: rmsnorm_silu_cpu -O3 -march=native
//: The exponential by a table of the 256 fractional powers of two, filled at the first call, and a short polynomial for what is left.
#include "kernel.h"

#include <immintrin.h>
#include <math.h>

#define STEPS 256

static float powers[STEPS]; /* 2^(k/256) */

static void fill_powers(void) {
    for (int k = STEPS - 1; k >= 0; k--) powers[k] = (float)exp2((double)k / STEPS);
}

/* exp(v) = 2^whole · 2^(k/256) · exp(r), |r| <= ln(2)/512 */
static inline __m256 exp8(__m256 v) {
    v = _mm256_min_ps(_mm256_set1_ps(88.0f), _mm256_max_ps(_mm256_set1_ps(-87.0f), v));
    __m256i i = _mm256_cvtps_epi32(_mm256_mul_ps(v, _mm256_set1_ps((float)(STEPS / 0.69314718055994531))));
    __m256 n = _mm256_cvtepi32_ps(i);
    __m256 r = _mm256_fnmadd_ps(n, _mm256_set1_ps(0.00270843506f), v);
    r = _mm256_fnmadd_ps(n, _mm256_set1_ps((float)(0.69314718055994531 / STEPS - (double)0.00270843506f)), r);
    __m256 p = _mm256_fmadd_ps(_mm256_fmadd_ps(r, _mm256_set1_ps(0.5f), _mm256_set1_ps(1.0f)), r, _mm256_set1_ps(1.0f));
    __m256 of_table = _mm256_i32gather_ps(powers, _mm256_and_si256(i, _mm256_set1_epi32(STEPS - 1)), 4);
    __m256i whole = _mm256_slli_epi32(_mm256_srai_epi32(i, 8), 23);
    return _mm256_mul_ps(p, _mm256_castsi256_ps(_mm256_add_epi32(_mm256_castps_si256(of_table), whole)));
}

static inline float one(float x, float w, float g, float scale) { return x * scale * w * (g / (1.0f + expf(-g))); }

void rmsnorm_silu(const float *x, const float *w, const float *g, float *y, long rows, long cols, float eps) {
    if (powers[0] == 0.0f) fill_powers();
    const __m256 unit = _mm256_set1_ps(1.0f);
    for (long r = 0; r < rows; r++, x += cols, g += cols, y += cols) {
        float part[16] = {0}, sum = 0.0f;
        long c = 0;
        for (; c + 16 <= cols; c += 16)
            for (int k = 0; k < 16; k++) part[k] += x[c + k] * x[c + k];
        for (; c < cols; c++) sum += x[c] * x[c];
        for (int k = 0; k < 16; k++) sum += part[k];
        float scale = 1.0f / sqrtf(sum / (float)cols + eps);
        __m256 scales = _mm256_set1_ps(scale);
        for (c = 0; c + 8 <= cols; c += 8) {
            __m256 gate = _mm256_loadu_ps(g + c);
            __m256 e = exp8(_mm256_xor_ps(gate, _mm256_set1_ps(-0.0f)));
            __m256 v = _mm256_mul_ps(_mm256_mul_ps(_mm256_loadu_ps(x + c), scales), _mm256_loadu_ps(w + c));
            _mm256_storeu_ps(y + c, _mm256_mul_ps(v, _mm256_div_ps(gate, _mm256_add_ps(unit, e))));
        }
        for (; c < cols; c++) y[c] = one(x[c], w[c], g[c], scale);
    }
}
