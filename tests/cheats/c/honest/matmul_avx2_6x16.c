//: matmul_cpu -O3 -march=native
//: Six rows by sixteen columns of c stay in registers, with FMA, and masked loads and stores take the last columns.
#include "kernel.h"

#include <immintrin.h>

static inline __m256i lanes(long count) {
    int live = count < 0 ? 0 : count > 8 ? 8 : (int)count;
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(live), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

#define ROW(r) \
    if (ROWS > r) { \
        __m256 v = _mm256_broadcast_ss(a + (r) * k + l); \
        s[r][0] = _mm256_fmadd_ps(v, p, s[r][0]); \
        s[r][1] = _mm256_fmadd_ps(v, q, s[r][1]); \
    }

#define STRIP(NAME, COUNT) \
static void NAME(const float *a, const float *b, float *c, long n, long k) { \
    enum { ROWS = COUNT }; \
    long j = 0; \
    for (; j + 16 <= n; j += 16) { \
        __m256 s[ROWS][2]; \
        for (int r = 0; r < ROWS; r++) s[r][0] = s[r][1] = _mm256_setzero_ps(); \
        for (long l = 0; l < k; l++) { \
            __m256 p = _mm256_loadu_ps(b + l * n + j), q = _mm256_loadu_ps(b + l * n + j + 8); \
            BODY \
        } \
        for (int r = 0; r < ROWS; r++) { \
            _mm256_storeu_ps(c + r * n + j, s[r][0]); \
            _mm256_storeu_ps(c + r * n + j + 8, s[r][1]); \
        } \
    } \
    if (j < n) { \
        __m256i first = lanes(n - j), second = lanes(n - j - 8); \
        long over = n - j > 8 ? 8 : 0; \
        __m256 s[ROWS][2]; \
        for (int r = 0; r < ROWS; r++) s[r][0] = s[r][1] = _mm256_setzero_ps(); \
        for (long l = 0; l < k; l++) { \
            const float *at = b + l * n + j; \
            __m256 p = _mm256_maskload_ps(at, first), q = _mm256_maskload_ps(at + over, second); \
            BODY \
        } \
        for (int r = 0; r < ROWS; r++) { \
            _mm256_maskstore_ps(c + r * n + j, first, s[r][0]); \
            if (over) _mm256_maskstore_ps(c + r * n + j + 8, second, s[r][1]); \
        } \
    } \
}

#define BODY ROW(0) ROW(1) ROW(2) ROW(3) ROW(4) ROW(5)
STRIP(six, 6)
#undef BODY
#define BODY ROW(0)
STRIP(one, 1)

void matmul(const float *a, const float *b, float *c, long m, long n, long k) {
    long i = 0;
    for (; i + 6 <= m; i += 6) six(a + i * k, b, c + i * n, n, k);
    for (; i < m; i++) one(a + i * k, b, c + i * n, n, k);
}
