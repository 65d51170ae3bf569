//: conv2d_cpu -O3 -march=native -fopenmp-simd
//: OpenMP's simd pragmas only, with a dot product of a row declared as simd, and two rows of sums at a time
#include "kernel.h"

#include <assert.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#define POS(v) _Generic((v), long: check_long)((v), #v)

static inline long check_long(long v, const char *what) {
    if (__builtin_expect(v < 0, 0)) {
        fprintf(stderr, "conv2d: %s = %ld, which cannot be\n", what, v);
        abort();
    }
    return v;
}

#pragma omp declare simd uniform(f) linear(x : 1) notinbranch
static inline float taps(const float *f, const float *x) {
    return f[0] * x[0] + f[1] * x[1] + f[2] * x[2] + f[3] * x[3] + f[4] * x[4];
}

static void rows_of_plane(size_t pitch, const float (*restrict x)[pitch], const float (*restrict f)[SIZE], float *restrict y, long rows, long cols) {
    long r = 0;
    for (; r + 2 <= rows; r += 2) {
        float *restrict top = y + r * cols, *restrict bottom = top + cols;
#pragma omp simd
        for (long c = 0; c < cols; c++) {
            top[c] = taps(f[0], x[r] + c) + taps(f[1], x[r + 1] + c) + taps(f[2], x[r + 2] + c) + taps(f[3], x[r + 3] + c) + taps(f[4], x[r + 4] + c);
            bottom[c] = taps(f[0], x[r + 1] + c) + taps(f[1], x[r + 2] + c) + taps(f[2], x[r + 3] + c) + taps(f[3], x[r + 4] + c) + taps(f[4], x[r + 5] + c);
        }
    }
    if (r < rows) {
#pragma omp simd
        for (long c = 0; c < cols; c++)
            y[r * cols + c] = taps(f[0], x[r] + c) + taps(f[1], x[r + 1] + c) + taps(f[2], x[r + 2] + c) + taps(f[3], x[r + 3] + c) + taps(f[4], x[r + 4] + c);
    }
}

void conv2d(const float *x, const float *w, float *y, long planes, long rows, long cols) {
    const size_t pitch = (size_t)(POS(cols) + SIZE - 1), tall = (size_t)(POS(rows) + SIZE - 1);
    assert(x && w && y);
    for (long p = 0; p < POS(planes); p++)
        rows_of_plane(pitch, (const float(*)[pitch])(x + (size_t)p * tall * pitch), (const float(*)[SIZE])(w + p * SIZE * SIZE), y + p * rows * cols, rows, cols);
}
