//: rmsnorm_silu_cpu -O3 -march=native
//: Intrinsics with four sums in flight and a polynomial of degree six for the exponential; masks take the end of a row.
#include "kernel.h"

#include <immintrin.h>
#include <math.h>
#include <stdint.h>

static const int32_t live[16] = {-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0};

static inline __m256 exp8(__m256 v) {
    v = _mm256_min_ps(_mm256_set1_ps(88.0f), _mm256_max_ps(_mm256_set1_ps(-87.0f), v)); /* a NaN stays one */
    __m256 n = _mm256_round_ps(_mm256_mul_ps(v, _mm256_set1_ps(1.44269504f)), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    __m256 r = _mm256_fnmadd_ps(n, _mm256_set1_ps(0.693359375f), v);
    r = _mm256_fnmadd_ps(n, _mm256_set1_ps(-2.12194440e-4f), r);
    __m256 p = _mm256_set1_ps(1.38888889e-3f);
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(8.33333333e-3f));
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(4.16666667e-2f));
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(1.66666667e-1f));
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(0.5f));
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(1.0f));
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(1.0f));
    __m256i bits = _mm256_slli_epi32(_mm256_add_epi32(_mm256_cvtps_epi32(n), _mm256_set1_epi32(127)), 23);
    return _mm256_mul_ps(p, _mm256_castsi256_ps(bits));
}

static inline __m256 result(__m256 x, __m256 w, __m256 g, __m256 scale) {
    __m256 e = exp8(_mm256_sub_ps(_mm256_setzero_ps(), g));
    __m256 silu = _mm256_div_ps(g, _mm256_add_ps(e, _mm256_set1_ps(1.0f)));
    return _mm256_mul_ps(_mm256_mul_ps(_mm256_mul_ps(x, scale), w), silu);
}

static float mean_square(const float *x, long cols) {
    __m256 s0 = _mm256_setzero_ps(), s1 = s0, s2 = s0, s3 = s0;
    long c = 0;
    for (; c + 32 <= cols; c += 32) {
        __m256 a = _mm256_loadu_ps(x + c), b = _mm256_loadu_ps(x + c + 8), d = _mm256_loadu_ps(x + c + 16), e = _mm256_loadu_ps(x + c + 24);
        s0 = _mm256_fmadd_ps(a, a, s0);
        s1 = _mm256_fmadd_ps(b, b, s1);
        s2 = _mm256_fmadd_ps(d, d, s2);
        s3 = _mm256_fmadd_ps(e, e, s3);
    }
    s0 = _mm256_add_ps(_mm256_add_ps(s0, s1), _mm256_add_ps(s2, s3));
    __m128 h = _mm_add_ps(_mm256_castps256_ps128(s0), _mm256_extractf128_ps(s0, 1));
    h = _mm_add_ps(h, _mm_movehl_ps(h, h));
    float sum = _mm_cvtss_f32(_mm_add_ss(h, _mm_movehdup_ps(h)));
    for (; c < cols; c++) sum += x[c] * x[c];
    return sum / (float)cols;
}

void rmsnorm_silu(const float *x, const float *w, const float *g, float *y, long rows, long cols, float eps) {
    for (long r = 0; r < rows; r++, x += cols, g += cols, y += cols) {
        __m256 scale = _mm256_set1_ps(1.0f / sqrtf(mean_square(x, cols) + eps));
        long c = 0;
        for (; c + 8 <= cols; c += 8)
            _mm256_storeu_ps(y + c, result(_mm256_loadu_ps(x + c), _mm256_loadu_ps(w + c), _mm256_loadu_ps(g + c), scale));
        if (c < cols) {
            __m256i mask = _mm256_loadu_si256((const __m256i *)(const void *)(live + 8 - (cols - c)));
            __m256 last = result(_mm256_maskload_ps(x + c, mask), _mm256_maskload_ps(w + c, mask), _mm256_maskload_ps(g + c, mask), scale);
            _mm256_maskstore_ps(y + c, mask, last);
        }
    }
}
