//: conv2d_cpu -O3 -march=native
//: Honest: vector extensions, two rows by two vectors in registers, so each row of x is loaded once for both; the end of a row is done by a vector that ends there, or one by one where the row is too short.
#include "kernel.h"

#include <string.h>

typedef float vec __attribute__((vector_size(32)));
#define LANES 8

static inline vec at(const float *p) {
    vec v;
    memcpy(&v, p, sizeof v);
    return v;
}

static inline __attribute__((always_inline)) void block(
    const float *x, const float *w, float *y, long wide, long cols, const int rows, const int vecs
) {
    vec sum[2][2] = {{{0}}};
#pragma GCC unroll 6
    for (int i = 0; i < SIZE + rows - 1; i++) {
#pragma GCC unroll 5
        for (int j = 0; j < SIZE; j++) {
#pragma GCC unroll 2
            for (int v = 0; v < vecs; v++) {
                vec from = at(x + i * wide + j + v * LANES);
                if (i < SIZE) sum[0][v] += w[i * SIZE + j] * from;
                if (rows == 2 && i > 0) sum[1][v] += w[(i - 1) * SIZE + j] * from;
            }
        }
    }
    for (int r = 0; r < rows; r++)
        for (int v = 0; v < vecs; v++) memcpy(y + r * cols + v * LANES, &sum[r][v], sizeof(vec));
}

static inline __attribute__((always_inline)) void line(const float *x, const float *w, float *y, long wide, long cols, const int rows) {
    long c = 0;
    for (; c + 2 * LANES <= cols; c += 2 * LANES) block(x + c, w, y + c, wide, cols, rows, 2);
    if (c + LANES <= cols) {
        block(x + c, w, y + c, wide, cols, rows, 1);
        c += LANES;
    }
    if (c == cols) return;
    if (cols >= LANES) {
        block(x + cols - LANES, w, y + cols - LANES, wide, cols, rows, 1);
        return;
    }
    for (int r = 0; r < rows; r++) {
        for (long o = c; o < cols; o++) {
            float sum = 0.0f;
            for (int i = 0; i < SIZE; i++)
                for (int j = 0; j < SIZE; j++) sum += w[i * SIZE + j] * x[(r + i) * wide + o + j];
            y[r * cols + o] = sum;
        }
    }
}

void conv2d(const float *x, const float *w, float *y, long planes, long rows, long cols) {
    long wide = cols + SIZE - 1;
    for (long p = 0; p < planes; p++, x += (rows + SIZE - 1) * wide, w += SIZE * SIZE, y += rows * cols) {
        float f[SIZE * SIZE];
        memcpy(f, w, sizeof f);
        long r = 0;
        for (; r + 2 <= rows; r += 2) line(x + r * wide, f, y + r * cols, wide, cols, 2);
        if (r < rows) line(x + r * wide, f, y + r * cols, wide, cols, 1);
    }
}
