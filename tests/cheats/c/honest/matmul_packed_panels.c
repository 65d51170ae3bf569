//: matmul_cpu -O3 -march=native
//: Packs panels of sixteen columns of b, in slabs of 256 rows, into an aligned array on the stack that stays in the first cache, and multiplies four rows of a by each.
#include "kernel.h"

#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

enum { NR = 16, MR = 4, KC = 256 };

typedef float v8 __attribute__((vector_size(32)));

_Static_assert(NR == 2 * sizeof(v8) / sizeof(float), "a panel is two vectors wide");

static void pack(const float *b, float *to, long n, long depth, long width) {
    for (long l = 0; l < depth; l++, to += NR) {
        memcpy(to, b + l * n, (size_t)width * sizeof *to);
        for (long j = width; j < NR; j++) to[j] = 0.0f;
    }
}

static void micro(const float *const *row, const float *panel, float *c, long n, long depth, long rows, long width, int first) {
    v8 s[MR][2] = {0};
    for (long l = 0; l < depth; l++) {
        v8 p = *(const v8 *)(const void *)(panel + l * NR), q = *(const v8 *)(const void *)(panel + l * NR + 8);
#pragma GCC unroll 4
        for (int r = 0; r < MR; r++) {
            s[r][0] += row[r][l] * p;
            s[r][1] += row[r][l] * q;
        }
    }
    for (long r = 0; r < rows; r++) {
        alignas(32) float part[NR];
        memcpy(part, s[r], sizeof part);
        float *to = c + r * n;
        if (first)
            memcpy(to, part, (size_t)width * sizeof *to);
        else
            for (long j = 0; j < width; j++) to[j] += part[j];
    }
}

void matmul(const float *a, const float *b, float *c, long m, long n, long k) {
    alignas(64) float local[KC * NR];
    for (long l = 0; l < k; l += KC) {
        long depth = k - l < KC ? k - l : KC;
        for (long j = 0; j < n; j += NR) {
            long width = n - j < NR ? n - j : NR;
            pack(b + l * n + j, local, n, depth, width);
            for (long i = 0; i < m; i += MR) {
                const float *row[MR];
                for (long r = 0; r < MR; r++) row[r] = a + (i + r < m ? i + r : m - 1) * k + l;
                micro(row, local, c + i * n + j, n, depth, m - i < MR ? m - i : MR, width, l == 0);
            }
        }
    }
}
