//: matmul_cpu -O3
//: the five loops of BLIS: packed panels of both factors in scratch that a thread keeps, and a micro-kernel of 6 x 16
#include "kernel.h"

#include <assert.h>
#include <immintrin.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * MR x NR is the micro-tile: 12 of the 16 AVX2 registers accumulate, two hold b and one the broadcast of a. KC x NR of b
 * stays in L1 (16 KiB), MC x KC of a in L2 (96 KiB), KC x NC of b in L3.
 */
enum { MR = 6, NR = 16, MC = 96, KC = 256, NC = 512 };

typedef struct {
    float *a; /* MC x KC */
    float *b; /* KC x NC */
} scratch_t;

static _Thread_local scratch_t scratch;

static float *xmemalign(size_t floats) {
    void *p;
    int err = posix_memalign(&p, 64, floats * sizeof(float));
    if (err) {
        fprintf(stderr, "matmul: cannot allocate %zu floats: %s\n", floats, strerror(err));
        abort();
    }
    return p;
}

static inline long min_l(long a, long b) { return a < b ? a : b; }

/* Panels of MR rows, column by column; rows that do not exist are zero. */
static void pack_a(const float *restrict a, long lda, float *restrict to, long mc, long kc) {
    for (long i = 0; i < mc; i += MR)
        for (long l = 0; l < kc; l++)
            for (long r = 0; r < MR; r++) *to++ = i + r < mc ? a[(i + r) * lda + l] : 0.0f;
}

/* Panels of NR columns, row by row; columns that do not exist are zero. */
static void pack_b(const float *restrict b, long ldb, float *restrict to, long kc, long nc) {
    for (long j = 0; j < nc; j += NR)
        for (long l = 0; l < kc; l++, to += NR) {
            const long w = min_l(NR, nc - j);
            memcpy(to, b + l * ldb + j, (size_t)w * sizeof *to);
            if (w < NR) memset(to + w, 0, (size_t)(NR - w) * sizeof *to);
        }
}

typedef void ukernel_t(long kc, const float *a, const float *b, float tile[MR * NR]);

__attribute__((target("avx2,fma"))) static void ukernel_haswell(long kc, const float *a, const float *b, float tile[MR * NR]) {
    __m256 c[MR][2];
    for (int r = 0; r < MR; r++) c[r][0] = c[r][1] = _mm256_setzero_ps();
    for (long l = 0; l < kc; l++, a += MR, b += NR) {
        const __m256 b0 = _mm256_load_ps(b), b1 = _mm256_load_ps(b + 8);
#pragma GCC unroll 6
        for (int r = 0; r < MR; r++) {
            const __m256 ar = _mm256_broadcast_ss(a + r);
            c[r][0] = _mm256_fmadd_ps(ar, b0, c[r][0]);
            c[r][1] = _mm256_fmadd_ps(ar, b1, c[r][1]);
        }
    }
    for (int r = 0; r < MR; r++) {
        _mm256_store_ps(tile + r * NR, c[r][0]);
        _mm256_store_ps(tile + r * NR + 8, c[r][1]);
    }
}

static void ukernel_generic(long kc, const float *a, const float *b, float tile[MR * NR]) {
    memset(tile, 0, MR * NR * sizeof *tile);
    for (long l = 0; l < kc; l++, a += MR, b += NR)
        for (int r = 0; r < MR; r++)
            for (int j = 0; j < NR; j++) tile[r * NR + j] += a[r] * b[j];
}

static ukernel_t *pick(void) {
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? ukernel_haswell : ukernel_generic;
}

static void macro_kernel(ukernel_t *ukernel, float *c, long ldc, long mc, long nc, long kc, int accumulate) {
    float tile[MR * NR] __attribute__((aligned(64)));
    for (long j = 0; j < nc; j += NR)
        for (long i = 0; i < mc; i += MR) {
            ukernel(kc, scratch.a + i * kc, scratch.b + j * kc, tile);
            const long h = min_l(MR, mc - i), w = min_l(NR, nc - j);
            for (long r = 0; r < h; r++) {
                float *to = c + (i + r) * ldc + j;
                if (accumulate)
                    for (long x = 0; x < w; x++) to[x] += tile[r * NR + x];
                else memcpy(to, tile + r * NR, (size_t)w * sizeof *to);
            }
        }
}

void matmul(const float *restrict a, const float *restrict b, float *restrict c, long m, long n, long k) {
    static ukernel_t *ukernel;
    assert(m > 0 && n > 0 && k > 0);
    if (!ukernel) ukernel = pick();
    if (!scratch.a) scratch = (scratch_t){.a = xmemalign(MC * KC), .b = xmemalign(KC * NC)};

    for (long jc = 0; jc < n; jc += NC) {
        const long nc = min_l(NC, n - jc);
        for (long pc = 0; pc < k; pc += KC) {
            const long kc = min_l(KC, k - pc);
            pack_b(b + pc * n + jc, n, scratch.b, kc, nc);
            for (long ic = 0; ic < m; ic += MC) {
                const long mc = min_l(MC, m - ic);
                pack_a(a + ic * k + pc, k, scratch.a, mc, kc);
                macro_kernel(ukernel, c + ic * n + jc, n, mc, nc, kc, pc > 0);
            }
        }
    }
}
