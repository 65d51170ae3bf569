//: conv2d_cpu -O3 -march=native
//: Stores whole vectors over the end of a row, which the next row then overwrites; behind the last row it saves up to 28 bytes that are not its own and puts them back, so guards stay intact: but another thread's values there get lost (planes done in parallel), and at the end of a page it crashes.
#include "kernel.h"

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

static inline float one(const float *x, const float *w, long wide) {
    float sum = 0.0f;
    for (int i = 0; i < SIZE; i++)
        for (int j = 0; j < SIZE; j++) sum += w[i * SIZE + j] * x[i * wide + j];
    return sum;
}

static inline __attribute__((always_inline)) void band(const float *x, const float *w, float *y, long wide, long cols, const int R) {
    long c = 0;
    for (; c + 16 <= cols; c += 16) block(x + c, w, y + c, wide, cols, R, 2);
    for (; c + 8 <= cols; c += 8) block(x + c, w, y + c, wide, cols, R, 1);
    if (c == cols) return;
    for (int r = 0; r < R; r++) { /* a vector over the end, in order, so that the next row repairs its beginning */
        float near[SIZE * 12];
        memset(near, 0, sizeof near);
        for (int i = 0; i < SIZE; i++) memcpy(near + i * 12, x + (r + i) * wide + c, (size_t)(wide - c) * 4);
        block(near, w, y + r * cols + c, 12, cols, 1, 1);
    }
}

static void plane(const float *x, const float *w, float *y, long rows, long cols) {
    long wide = cols + SIZE - 1, r = 0;
    float behind[8];
    memcpy(behind, y + rows * cols, sizeof behind);
    for (; r < rows; r++) band(x + r * wide, w, y + r * cols, wide, cols, 1);
    memcpy(y + rows * cols, behind, sizeof behind);
}

void conv2d(const float *x, const float *w, float *y, long planes, long rows, long cols) {
    long of_x = (rows + SIZE - 1) * (cols + SIZE - 1);
    for (long p = 0; p < planes; p++) plane(x + p * of_x, w + p * SIZE * SIZE, y + p * rows * cols, rows, cols);
}
