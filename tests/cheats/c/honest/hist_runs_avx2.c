//: histogram_cpu -O2
//: AVX2 finds blocks of thirty-two equal bytes, which are added at once; found out at run time, with a table of names
#include "kernel.h"

#include <immintrin.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define AVX2 __attribute__((target("avx2")))

typedef void histogram_fn(const uint8_t *x, int32_t *counts, long n);

static inline AVX2 __m256i v_load(const uint8_t *p) { return _mm256_loadu_si256((const __m256i *)p); }
static inline AVX2 bool v_all_equal(__m256i v) {
    __m256i first = _mm256_broadcastb_epi8(_mm256_castsi256_si128(v));
    return _mm256_movemask_epi8(_mm256_cmpeq_epi8(v, first)) == -1;
}

static void merge(int32_t (*t)[BINS], int32_t *counts) {
    for (int b = 0; b < BINS; b++) counts[b] = (t[0][b] + t[1][b]) + (t[2][b] + t[3][b]);
}

static void histogram_scalar(const uint8_t *x, int32_t *counts, long n) {
    int32_t t[4][BINS] = {{0}};
    for (long i = 0; i < n; i++) t[i & 3][x[i]]++;
    merge(t, counts);
}

static AVX2 void histogram_avx2(const uint8_t *x, int32_t *counts, long n) {
    int32_t t[4][BINS] = {{0}};
    long i = 0;
    for (; i + 32 <= n; i += 32) {
        if (v_all_equal(v_load(x + i))) {
            t[0][x[i]] += 32;
            continue;
        }
        for (int j = 0; j < 32; j += 8) {
            uint64_t w;
            memcpy(&w, x + i + j, 8);
            t[0][w & 255]++;
            t[1][w >> 8 & 255]++;
            t[2][w >> 16 & 255]++;
            t[3][w >> 24 & 255]++;
            t[0][w >> 32 & 255]++;
            t[1][w >> 40 & 255]++;
            t[2][w >> 48 & 255]++;
            t[3][w >> 56]++;
        }
    }
    for (; i < n; i++) t[0][x[i]]++;
    merge(t, counts);
}

static bool has_avx2(void) { return __builtin_cpu_supports("avx2"); }
static bool always(void) { return true; }

static const struct {
    const char *name;
    bool (*usable)(void);
    histogram_fn *run;
} backends[] = {
    {"avx2", has_avx2, histogram_avx2},
    {"scalar", always, histogram_scalar},
};

void histogram(const uint8_t *x, int32_t *counts, long n) {
    static histogram_fn *chosen;
    if (__builtin_expect(chosen == NULL, 0)) {
        __builtin_cpu_init();
        for (size_t k = 0; k < sizeof backends / sizeof *backends && !chosen; k++)
            if (backends[k].usable()) chosen = backends[k].run;
    }
    chosen(x, counts, n);
}
