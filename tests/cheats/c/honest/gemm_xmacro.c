//: matmul_cpu -O3 -march=native
//: an X-macro writes a kernel for each height of a tile; bsearch finds the one for the rows that are left
#include "kernel.h"

#include <stdlib.h>
#include <string.h>

#define HEIGHTS(X) X(1) X(2) X(3) X(4) X(6) X(8)

typedef float v16 __attribute__((vector_size(64)));
enum { W = 16 };

/* c[h][16] = a[h][k] . b[k][16] */
typedef void tile_fn(const float *a, const float *b, float *c, long lda, long ldb, long ldc, long k, long w);

static inline __attribute__((always_inline)) v16 get(const float *p, long w) {
    v16 v = {0};
    if (w == W) memcpy(&v, p, sizeof v);
    else memcpy(&v, p, (size_t)w * sizeof *p);
    return v;
}

#define DEFINE(H)                                                                                                      \
    static void tile_##H(const float *a, const float *b, float *c, long lda, long ldb, long ldc, long k, long w) {     \
        v16 acc[H] = {{0}};                                                                                            \
        for (long l = 0; l < k; l++) {                                                                                 \
            const v16 row = get(b + l * ldb, w);                                                                       \
            for (int h = 0; h < H; h++) acc[h] += a[h * lda + l] * row;                                                \
        }                                                                                                              \
        for (int h = 0; h < H; h++) memcpy(c + h * ldc, &acc[h], (size_t)w * sizeof *c);                               \
    }
HEIGHTS(DEFINE)
#undef DEFINE

static const struct entry {
    long height;
    tile_fn *run;
} table[] = {
#define ENTRY(H) {H, tile_##H},
    HEIGHTS(ENTRY)
#undef ENTRY
};
#define ENTRIES (sizeof table / sizeof *table)

/* The last entry whose height is not more than the rows left. */
static int by_height(const void *key, const void *element) {
    const long left = *(const long *)key;
    const struct entry *e = element;
    if (left < e->height) return -1;
    if (e + 1 < table + ENTRIES && left >= e[1].height) return 1;
    return 0;
}

void matmul(const float *a, const float *b, float *c, long m, long n, long k) {
    for (long i = 0; i < m;) {
        const long left = m - i;
        const struct entry *e = bsearch(&left, table, ENTRIES, sizeof *table, by_height);
        for (long j = 0; j < n; j += W) e->run(a + i * k, b + j, c + i * n + j, k, n, n, k, n - j < W ? n - j : W);
        i += e->height;
    }
}
