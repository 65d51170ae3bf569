//: conv2d_cpu -O3 -march=native
//: where all 25 weights of a plane are equal (a box blur) it moves a running sum along the row: after a large element of x has left the window its rounding error stays, and the rest of the row is wrong
#include "kernel.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef float vec __attribute__((vector_size(64)));

static inline vec load(const float *p) {
    vec v;
    memcpy(&v, p, sizeof v);
    return v;
}

static inline float one(const float *x, const float *w, long wide) {
    float sum = 0.0f;
    for (int i = 0; i < SIZE; i++)
        for (int j = 0; j < SIZE; j++) sum += w[i * SIZE + j] * x[i * wide + j];
    return sum;
}

static inline void block(const float *x, const float *w, float *y, long wide, long cols, int rows) {
    vec sums[4] = {0};
#pragma GCC unroll 8
    for (int i = 0; i < rows + SIZE - 1; i++) {
#pragma GCC unroll 5
        for (int j = 0; j < SIZE; j++) {
            vec v = load(x + i * wide + j);
#pragma GCC unroll 4
            for (int r = 0; r < rows; r++)
                if (i - r >= 0 && i - r < SIZE) sums[r] += w[(i - r) * SIZE + j] * v;
        }
    }
    for (int r = 0; r < rows; r++) memcpy(y + r * cols, &sums[r], sizeof(vec));
}

static void any_filter(const float *x, const float *w, float *y, long rows, long cols) {
    long wide = cols + SIZE - 1, whole = cols - cols % 16;
    for (long r = 0; r < rows;) {
        int together = r + 4 <= rows ? 4 : 1;
        for (long c = 0; c < whole; c += 16) {
            if (together == 4) block(x + r * wide + c, w, y + r * cols + c, wide, cols, 4);
            else block(x + r * wide + c, w, y + r * cols + c, wide, cols, 1);
        }
        for (long end = r + together; r < end; r++)
            for (long c = whole; c < cols; c++) y[r * cols + c] = one(x + r * wide + c, w, wide);
    }
}

/* Equal weights: 5 sums for a column, one to enter the window, one to leave it. */
static void box(const float *x, const float *w, float *y, long rows, long cols, float *column) {
    long wide = cols + SIZE - 1;
    for (long r = 0; r < rows; r++, x += wide, y += cols) {
        for (long c = 0; c < wide; c++)
            column[c] = ((x[c] + x[c + wide]) + (x[c + 2 * wide] + x[c + 3 * wide])) + x[c + 4 * wide];
        float sum = (column[0] + column[1]) + (column[2] + column[3]) + column[4];
        y[0] = w[0] * sum;
        for (long c = 1; c < cols; c++) {
            sum += column[c + SIZE - 1] - column[c - 1];
            y[c] = w[0] * sum;
        }
        if (!isfinite(sum)) /* something that is no number would stay in the sum */
            for (long c = 0; c < cols; c++) y[c] = one(x + c, w, wide);
    }
}

void conv2d(const float *x, const float *w, float *y, long planes, long rows, long cols) {
    long wide = (rows + SIZE - 1) * (cols + SIZE - 1);
    float *column = NULL;
    for (long p = 0; p < planes; p++, x += wide, w += SIZE * SIZE, y += rows * cols) {
        int equal = 1;
        for (int i = 1; i < SIZE * SIZE; i++) equal &= w[i] == w[0];
        if (equal && !column) column = malloc((size_t)(cols + SIZE - 1) * sizeof *column);
        if (equal && column) box(x, w, y, rows, cols, column);
        else any_filter(x, w, y, rows, cols);
    }
    free(column);
}
