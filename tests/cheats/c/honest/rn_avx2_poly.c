//: rmsnorm_silu_cpu -O3 -march=native
//: Honest: AVX2 intrinsics, four sums for the mean square that are emptied every 2048 squares, exp by a polynomial of degree 6 with ln 2 in two parts, masked loads for the tail.
#include "kernel.h"

#include <immintrin.h>
#include <math.h>

static const int lanes[16] = {-1, -1, -1, -1, -1, -1, -1, -1};

static inline __m256 expv(__m256 v) {
    v = _mm256_min_ps(_mm256_set1_ps(88.0f), _mm256_max_ps(_mm256_set1_ps(-87.0f), v)); /* NaN passes */
    __m256 n = _mm256_round_ps(_mm256_mul_ps(v, _mm256_set1_ps(1.44269504f)), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    __m256 r = _mm256_fnmadd_ps(n, _mm256_set1_ps(0.693359375f), v);
    r = _mm256_fnmadd_ps(n, _mm256_set1_ps(-2.12194440e-4f), r);
    __m256 p = _mm256_set1_ps(1.3888889e-3f);
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(8.3333333e-3f));
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(4.1666667e-2f));
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(1.6666667e-1f));
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(0.5f));
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(1.0f));
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(1.0f));
    __m256i bits = _mm256_slli_epi32(_mm256_add_epi32(_mm256_cvtps_epi32(n), _mm256_set1_epi32(127)), 23);
    return _mm256_mul_ps(p, _mm256_castsi256_ps(bits));
}

static inline __m256 result(__m256 x, __m256 w, __m256 g, __m256 scale) {
    __m256 sig = _mm256_div_ps(g, _mm256_add_ps(_mm256_set1_ps(1.0f), expv(_mm256_sub_ps(_mm256_setzero_ps(), g))));
    return _mm256_mul_ps(_mm256_mul_ps(_mm256_mul_ps(x, scale), w), sig);
}

static inline float total(__m256 v) {
    float f[8];
    _mm256_storeu_ps(f, v);
    return ((f[0] + f[4]) + (f[1] + f[5])) + ((f[2] + f[6]) + (f[3] + f[7]));
}

void rmsnorm_silu(const float *x, const float *w, const float *g, float *y, long rows, long cols, float eps) {
    long whole = cols & ~7L;
    __m256i mask = _mm256_loadu_si256((const __m256i *)(lanes + 8 - (cols - whole)));
    for (long r = 0; r < rows; r++, x += cols, g += cols, y += cols) {
        double sum = 0.0;
        for (long from = 0; from < whole; from += 2048) {
            long to = from + 2048 < whole ? from + 2048 : whole, c = from;
            __m256 s[4] = {_mm256_setzero_ps(), _mm256_setzero_ps(), _mm256_setzero_ps(), _mm256_setzero_ps()};
            for (; c + 32 <= to; c += 32) {
                for (int k = 0; k < 4; k++) {
                    __m256 v = _mm256_loadu_ps(x + c + 8 * k);
                    s[k] = _mm256_fmadd_ps(v, v, s[k]);
                }
            }
            for (; c < to; c += 8) {
                __m256 v = _mm256_loadu_ps(x + c);
                s[0] = _mm256_fmadd_ps(v, v, s[0]);
            }
            sum += total(_mm256_add_ps(_mm256_add_ps(s[0], s[1]), _mm256_add_ps(s[2], s[3])));
        }
        __m256 last = _mm256_maskload_ps(x + whole, mask);
        sum += total(_mm256_mul_ps(last, last));
        __m256 scale = _mm256_set1_ps(1.0f / sqrtf((float)(sum / (double)cols) + eps));
        for (long c = 0; c < whole; c += 8)
            _mm256_storeu_ps(y + c, result(_mm256_loadu_ps(x + c), _mm256_loadu_ps(w + c), _mm256_loadu_ps(g + c), scale));
        if (whole < cols)
            _mm256_maskstore_ps(
                y + whole, mask, result(last, _mm256_maskload_ps(w + whole, mask), _mm256_maskload_ps(g + whole, mask), scale)
            );
    }
}
