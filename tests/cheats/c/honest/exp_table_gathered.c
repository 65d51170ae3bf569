//: rmsnorm_silu_cpu -O3 -march=native
//: exp from a table of 2^(j/256) that is filled at first use and gathered, sums of squares in double lanes, rows prefetched one ahead, masked edges
#include "kernel.h"

#include <immintrin.h>
#include <math.h>

static float powers[256]; /* 2^(j/256) */
static int filled;

static void fill_powers(void) {
    if (__atomic_load_n(&filled, __ATOMIC_ACQUIRE)) return;
    for (int j = 0; j < 256; j++) powers[j] = (float)exp2((double)j / 256.0); /* twice at once writes the same */
    __atomic_store_n(&filled, 1, __ATOMIC_RELEASE);
}

static inline __mmask16 lanes(long left) { return left < 16 ? (__mmask16)((1u << left) - 1) : (__mmask16)0xFFFF; }

/* exp(v) = 2^(i >> 8) · 2^((i & 255) / 256) · exp(r), |r| <= ln(2) / 512. The operands' order keeps a NaN in v. */
static inline __m512 exponential(__m512 v) {
    v = _mm512_min_ps(_mm512_set1_ps(88.0f), _mm512_max_ps(_mm512_set1_ps(-87.0f), v));
    __m512i i = _mm512_cvtps_epi32(_mm512_mul_ps(v, _mm512_set1_ps(369.329927f)));
    __m512 n = _mm512_cvtepi32_ps(i);
    __m512 r = _mm512_fnmadd_ps(n, _mm512_set1_ps(0.00270843506f), v); /* ln(2)/256 in two parts */
    r = _mm512_fnmadd_ps(n, _mm512_set1_ps(-8.2936788e-7f), r);
    __m512 t = _mm512_i32gather_ps(_mm512_and_si512(i, _mm512_set1_epi32(255)), powers, 4);
    __m512 p = _mm512_fmadd_ps(r, _mm512_set1_ps(0.5f), _mm512_set1_ps(1.0f));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1.0f));
    __m512i exponent = _mm512_slli_epi32(_mm512_add_epi32(_mm512_srai_epi32(i, 8), _mm512_set1_epi32(127)), 23);
    return _mm512_mul_ps(_mm512_mul_ps(t, p), _mm512_castsi512_ps(exponent));
}

static inline double mean_square(const float *x, long cols) {
    __m512d even = _mm512_setzero_pd(), odd = even;
    long c = 0;
    for (; c + 16 <= cols; c += 16) {
        __m512d low = _mm512_cvtps_pd(_mm256_loadu_ps(x + c)), high = _mm512_cvtps_pd(_mm256_loadu_ps(x + c + 8));
        even = _mm512_fmadd_pd(low, low, even);
        odd = _mm512_fmadd_pd(high, high, odd);
    }
    double sum = _mm512_reduce_add_pd(_mm512_add_pd(even, odd));
    for (; c < cols; c++) sum += (double)x[c] * x[c];
    return sum / (double)cols;
}

static inline void sixteen(const float *x, const float *w, const float *g, float *y, __m512 scale, __mmask16 m) {
    __m512 gate = _mm512_maskz_loadu_ps(m, g);
    __m512 e = exponential(_mm512_sub_ps(_mm512_setzero_ps(), gate));
    __m512 silu = _mm512_div_ps(gate, _mm512_add_ps(_mm512_set1_ps(1.0f), e));
    __m512 v = _mm512_mul_ps(_mm512_mul_ps(_mm512_maskz_loadu_ps(m, x), scale), _mm512_maskz_loadu_ps(m, w));
    _mm512_mask_storeu_ps(y, m, _mm512_mul_ps(v, silu));
}

void rmsnorm_silu(const float *x, const float *w, const float *g, float *y, long rows, long cols, float eps) {
    fill_powers();
    for (long r = 0; r < rows; r++, x += cols, g += cols, y += cols) {
        __m512 scale = _mm512_set1_ps((float)(1.0 / sqrt(mean_square(x, cols) + (double)eps)));
        long c = 0;
        for (; c + 32 <= cols; c += 32) {
            if (r + 1 < rows) _mm_prefetch((const char *)(x + cols + c), _MM_HINT_T0);
            sixteen(x + c, w + c, g + c, y + c, scale, 0xFFFF);
            sixteen(x + c + 16, w + c + 16, g + c + 16, y + c + 16, scale, 0xFFFF);
        }
        for (; c < cols; c += 16) sixteen(x + c, w + c, g + c, y + c, scale, lanes(cols - c));
    }
}
