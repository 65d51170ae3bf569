//: matmul_cpu -O2
//: AVX-512 with masks, panels of b in memory on huge pages that grows as needed and is kept
#define _GNU_SOURCE
#include "kernel.h"

#include <immintrin.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define ZMM __attribute__((target("avx512f")))
#define ROUND_UP(n, to) (((n) + (to) - 1) / (to) * (to))

static struct arena {
    float *base;
    size_t bytes;
} arena;

static float *arena_reserve(size_t bytes) {
    const size_t page = (size_t)2 << 20;
    if (bytes > arena.bytes) {
        free(arena.base);
        arena.bytes = ROUND_UP(bytes, page);
        arena.base = aligned_alloc(page, arena.bytes);
        if (!arena.base) {
            arena.bytes = 0;
            return NULL;
        }
        madvise(arena.base, arena.bytes, MADV_HUGEPAGE); /* advice only: no harm where it fails */
    }
    return arena.base;
}

__attribute__((destructor)) static void arena_drop(void) {
    free(arena.base);
    memset(&arena, 0, sizeof arena);
}

static inline ZMM __mmask16 lanes(long count) { return (__mmask16)(count >= 16 ? 0xffffu : count <= 0 ? 0u : (1u << count) - 1u); }

#define TILE(H)                                                                                              \
    static ZMM void tile##H(const float *a, long lda, const float *panel, float *c, long ldc, long k, __mmask16 m0, __mmask16 m1) { \
        __m512 acc[H][2];                                                                                    \
        for (int h = 0; h < H; h++) acc[h][0] = acc[h][1] = _mm512_setzero_ps();                             \
        for (long l = 0; l < k; l++) {                                                                       \
            const __m512 b0 = _mm512_load_ps(panel + 32 * l), b1 = _mm512_load_ps(panel + 32 * l + 16);      \
            _Pragma("GCC unroll 12") for (int h = 0; h < H; h++) {                                           \
                const __m512 s = _mm512_set1_ps(a[h * lda + l]);                                             \
                acc[h][0] = _mm512_fmadd_ps(s, b0, acc[h][0]);                                               \
                acc[h][1] = _mm512_fmadd_ps(s, b1, acc[h][1]);                                               \
            }                                                                                                \
        }                                                                                                    \
        for (int h = 0; h < H; h++) {                                                                        \
            _mm512_mask_storeu_ps(c + h * ldc, m0, acc[h][0]);                                               \
            if (m1) _mm512_mask_storeu_ps(c + h * ldc + 16, m1, acc[h][1]);                                  \
        }                                                                                                    \
    }
TILE(8)
TILE(1)

static ZMM void matmul_zmm(const float *a, const float *b, float *c, long m, long n, long k, float *panel) {
    for (long j = 0; j < n; j += 32) {
        const __mmask16 m0 = lanes(n - j), m1 = lanes(n - j - 16);
        for (long l = 0; l < k; l++) {
            _mm512_store_ps(panel + 32 * l, _mm512_maskz_loadu_ps(m0, b + l * n + j));
            _mm512_store_ps(panel + 32 * l + 16, m1 ? _mm512_maskz_loadu_ps(m1, b + l * n + j + 16) : _mm512_setzero_ps());
        }
        long i = 0;
        for (; i + 8 <= m; i += 8) tile8(a + i * k, k, panel, c + i * n + j, n, k, m0, m1);
        for (; i < m; i++) tile1(a + i * k, k, panel, c + i * n + j, n, k, m0, m1);
    }
}

static void matmul_portable(const float *restrict a, const float *restrict b, float *restrict c, long m, long n, long k) {
    memset(c, 0, (size_t)(m * n) * sizeof *c);
    for (long i = 0; i < m; i++)
        for (long l = 0; l < k; l++)
            for (long j = 0; j < n; j++) c[i * n + j] += a[i * k + l] * b[l * n + j];
}

void matmul(const float *a, const float *b, float *c, long m, long n, long k) {
    float *panel = __builtin_cpu_supports("avx512f") ? arena_reserve((size_t)k * 32 * sizeof(float)) : NULL;
    if (panel) matmul_zmm(a, b, c, m, n, k, panel);
    else matmul_portable(a, b, c, m, n, k);
}
