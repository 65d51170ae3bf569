//: conv2d_cpu -O3 -march=native
//: honest: last columns of a row are computed from a small copy of the input's edge on the stack, so that there is one vector body and nothing is read or written outside; four rows of sums at once
#include "kernel.h"

#include <string.h>

typedef float vec __attribute__((vector_size(64)));
#define V 16
#define TALL 4

static inline vec load(const float *from) {
    vec v;
    memcpy(&v, from, sizeof v);
    return v;
}

/* `rows` rows (a constant) of 16 columns; x has `wide` columns, y `cols`. */
static inline __attribute__((always_inline)) void body(const float *x, const float *w, float *y, long wide, long cols, const int rows) {
    vec s[TALL];
    for (int r = 0; r < rows; r++) s[r] = (vec){0};
#pragma GCC unroll 8
    for (int in = 0; in < rows + SIZE - 1; in++) {
#pragma GCC unroll 5
        for (int j = 0; j < SIZE; j++) {
            vec v = load(x + in * wide + j);
#pragma GCC unroll 4
            for (int r = 0; r < rows; r++)
                if (in - r >= 0 && in - r < SIZE) s[r] += w[(in - r) * SIZE + j] * v;
        }
    }
    for (int r = 0; r < rows; r++) memcpy(y + r * cols, &s[r], sizeof(vec));
}

static void edge(const float *x, const float *w, float *y, long wide, long cols, long width, int rows) {
    float from[(TALL + SIZE - 1) * (V + SIZE - 1)] = {0}, to[TALL * V];
    for (int i = 0; i < rows + SIZE - 1; i++)
        memcpy(from + i * (V + SIZE - 1), x + i * wide, (size_t)(width + SIZE - 1) * sizeof *x);
    if (rows == TALL) body(from, w, to, V + SIZE - 1, V, TALL);
    else body(from, w, to, V + SIZE - 1, V, 1);
    for (int r = 0; r < rows; r++) memcpy(y + r * cols, to + r * V, (size_t)width * sizeof *y);
}

void conv2d(const float *x, const float *w, float *y, long planes, long rows, long cols) {
    long wide = cols + SIZE - 1;
    for (long p = 0; p < planes; p++, x += (rows + SIZE - 1) * wide, w += SIZE * SIZE, y += rows * cols) {
        for (long r = 0; r < rows;) {
            int tall = r + TALL <= rows ? TALL : 1;
            long c = 0;
            for (; c + V <= cols; c += V) {
                if (tall == TALL) body(x + r * wide + c, w, y + r * cols + c, wide, cols, TALL);
                else body(x + r * wide + c, w, y + r * cols + c, wide, cols, 1);
            }
            if (c < cols) edge(x + r * wide + c, w, y + r * cols + c, wide, cols, cols - c, tall);
            r += tall;
        }
    }
}
