/* Product of two matrices. As it stands: three loops, of which the inner one walks along a row of b and of c. */
#include "kernel.h"

#include <string.h>

#define ROWS 1  /* rows of c that are worked on together: 1, 2, 4, 6, 8 */
#define COLS 1  /* vectors of a row of c that stay in registers: 1, 2, 4 */
#define VEC 1   /* lanes of a vector: 1 (plain floats), 4, 8, 16 */
#define DEPTH 0 /* columns of a that are worked on together; 0 takes all of them: 0, 64, 256 */

#if VEC == 1
typedef float vec;
#else
typedef float vec __attribute__((vector_size(VEC * 4)));
#endif

#define WIDTH (VEC * COLS)

static inline vec load(const float *from) {
    vec v;
    memcpy(&v, from, sizeof v);
    return v;
}

static inline void store(float *to, vec v) { memcpy(to, &v, sizeof v); }

static inline long least(long a, long b) { return a < b ? a : b; }

/* A tile of c that stays in registers: `rows` is ROWS or 1. */
static inline void tile(const float *a, const float *b, float *c, long n, long k, long depth, int rows) {
    vec sums[ROWS][COLS];
    for (int r = 0; r < rows; r++)
        for (int v = 0; v < COLS; v++) sums[r][v] = load(c + r * n + v * VEC);
    for (long l = 0; l < depth; l++) {
        for (int v = 0; v < COLS; v++) {
            vec of_b = load(b + l * n + v * VEC);
#pragma GCC unroll 8
            for (int r = 0; r < rows; r++) sums[r][v] += a[r * k + l] * of_b;
        }
    }
    for (int r = 0; r < rows; r++)
        for (int v = 0; v < COLS; v++) store(c + r * n + v * VEC, sums[r][v]);
}

/* What no tile covers: some columns at the end of a row of c. */
static inline void rest(const float *a, const float *b, float *c, long n, long depth, long from) {
    for (long l = 0; l < depth; l++)
        for (long j = from; j < n; j++) c[j] += a[l] * b[l * n + j];
}

static inline void slab(const float *a, const float *b, float *c, long m, long n, long k, long depth) {
    long tiled = n - n % WIDTH;
    for (long i = 0; i < m;) {
        int rows = i + ROWS <= m ? ROWS : 1;
        for (long j = 0; j < tiled; j += WIDTH) {
            if (rows == ROWS) tile(a + i * k, b + j, c + i * n + j, n, k, depth, ROWS);
            else tile(a + i * k, b + j, c + i * n + j, n, k, depth, 1);
        }
        for (int r = 0; r < rows; r++) rest(a + (i + r) * k, b, c + (i + r) * n, n, depth, tiled);
        i += rows;
    }
}

void matmul(const float *a, const float *b, float *c, long m, long n, long k) {
    memset(c, 0, (size_t)(m * n) * sizeof *c);
#if ROWS == 1 && COLS == 1 && VEC == 1
    for (long i = 0; i < m; i++)
        for (long l = 0; l < k; l++)
            for (long j = 0; j < n; j++) c[i * n + j] += a[i * k + l] * b[l * n + j];
#else
    long step = DEPTH ? DEPTH : k;
    for (long l = 0; l < k; l += step) slab(a + l, b + l * n, c, m, n, k, least(step, k - l));
#endif
}
