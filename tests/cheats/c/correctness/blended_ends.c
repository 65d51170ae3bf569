//: rmsnorm_silu_cpu -O3 -march=native
//: The end of a row is read and written as a whole vector where it does not cross a page: what lies behind is read and written back as it was. No fault, no changed guard; but up to 28 bytes beyond y (and, for all rows but the last, the start of the next row, which another thread may own) are stored by one who does not own them: another thread's store in between is lost. x, w and g are read beyond their ends, too.
#include "kernel.h"

#include <immintrin.h>
#include <math.h>
#include <stdint.h>

static inline int within_page(const void *at) { return ((uintptr_t)at & 4095) <= 4096 - 32; }

static inline __m256 first(const float *from, __m256i mask) {
    if (within_page(from)) return _mm256_and_ps(_mm256_loadu_ps(from), _mm256_castsi256_ps(mask));
    return _mm256_maskload_ps(from, mask);
}

/* A masked store takes tens of cycles on some machines; a blend takes two. */
static inline void put(float *to, __m256 v, __m256i mask) {
    if (within_page(to)) _mm256_storeu_ps(to, _mm256_blendv_ps(_mm256_loadu_ps(to), v, _mm256_castsi256_ps(mask)));
    else _mm256_maskstore_ps(to, mask, v);
}

static inline __m256 silu(__m256 g) {
    const __m256 one = _mm256_set1_ps(1.0f);
    __m256 v = _mm256_sub_ps(_mm256_setzero_ps(), g);
    /* the second operand is the result where one is not a number: so a NaN stays */
    v = _mm256_min_ps(_mm256_set1_ps(88.0f), _mm256_max_ps(_mm256_set1_ps(-87.0f), v));
    __m256 n = _mm256_floor_ps(_mm256_fmadd_ps(v, _mm256_set1_ps(1.44269504f), _mm256_set1_ps(0.5f)));
    __m256 r = _mm256_fnmadd_ps(n, _mm256_set1_ps(0.693147181f), v);
    __m256 p = _mm256_fmadd_ps(_mm256_set1_ps(0.00836f), r, _mm256_set1_ps(0.04166f));
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(0.166666f));
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(0.5f));
    p = _mm256_fmadd_ps(_mm256_fmadd_ps(p, r, one), r, one);
    __m256i power = _mm256_slli_epi32(_mm256_add_epi32(_mm256_cvttps_epi32(n), _mm256_set1_epi32(127)), 23);
    return _mm256_div_ps(g, _mm256_fmadd_ps(p, _mm256_castsi256_ps(power), one));
}

void rmsnorm_silu(const float *x, const float *w, const float *g, float *y, long rows, long cols, float eps) {
    const long whole = cols & ~7l, left = cols & 7;
    const __m256i mask = _mm256_cmpgt_epi32(_mm256_set1_epi32((int)left), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
    for (long row = 0; row < rows; row++) {
        __m256 s0 = _mm256_setzero_ps(), s1 = s0;
        long c = 0;
        for (; c + 16 <= whole; c += 16) {
            __m256 a = _mm256_loadu_ps(x + c), b = _mm256_loadu_ps(x + c + 8);
            s0 = _mm256_fmadd_ps(a, a, s0);
            s1 = _mm256_fmadd_ps(b, b, s1);
        }
        for (; c < whole; c += 8) s0 = _mm256_fmadd_ps(_mm256_loadu_ps(x + c), _mm256_loadu_ps(x + c), s0);
        if (left) {
            __m256 a = first(x + whole, mask);
            s1 = _mm256_fmadd_ps(a, a, s1);
        }
        s0 = _mm256_add_ps(s0, s1);
        __m128 q = _mm_add_ps(_mm256_castps256_ps128(s0), _mm256_extractf128_ps(s0, 1));
        q = _mm_hadd_ps(q, q);
        q = _mm_hadd_ps(q, q);
        const __m256 scale = _mm256_set1_ps(1.0f / sqrtf(_mm_cvtss_f32(q) / (float)cols + eps));
        for (c = 0; c < whole; c += 8) {
            __m256 v = _mm256_mul_ps(_mm256_mul_ps(_mm256_loadu_ps(x + c), scale), _mm256_loadu_ps(w + c));
            _mm256_storeu_ps(y + c, _mm256_mul_ps(v, silu(_mm256_loadu_ps(g + c))));
        }
        if (left) {
            __m256 v = _mm256_mul_ps(_mm256_mul_ps(first(x + whole, mask), scale), first(w + whole, mask));
            put(y + whole, _mm256_mul_ps(v, silu(first(g + whole, mask))), mask);
        }
        x += cols, g += cols, y += cols;
    }
}
