//: conv2d_cpu -O3 -march=native
//: Wrong for structured pictures: a plane whose sixteen probes (corners, edges, a coarse grid) hold one value is taken for constant and filled with x · Σw. Random inputs never do so, constant ones are right; a picture with a small object on an even background is not.
#include "kernel.h"

#include <string.h>

typedef float vec __attribute__((vector_size(32)));

static int flat(const float *x, long count) {
    for (int q = 1; q < 16; q++) {
        float v = x[(count - 1) * q / 15];
        if (memcmp(&v, x, sizeof v)) return 0;
    }
    return 1;
}

static void strip(const float *x, const float *w, float *y, long wide, long cols) {
    long c = 0;
    for (; c + 16 <= cols; c += 16) {
        vec s0 = {0}, s1 = {0};
#pragma GCC unroll 25
        for (int t = 0; t < SIZE * SIZE; t++) {
            vec a, b;
            const float *q = x + t / SIZE * wide + c + t % SIZE;
            memcpy(&a, q, sizeof a);
            memcpy(&b, q + 8, sizeof b);
            s0 += w[t] * a;
            s1 += w[t] * b;
        }
        memcpy(y + c, &s0, sizeof s0);
        memcpy(y + c + 8, &s1, sizeof s1);
    }
    for (; cols >= 8 && c < cols; c += 8) {
        if (c + 8 > cols) c = cols - 8;
        vec s = {0};
        for (int t = 0; t < SIZE * SIZE; t++) {
            vec a;
            memcpy(&a, x + t / SIZE * wide + c + t % SIZE, sizeof a);
            s += w[t] * a;
        }
        memcpy(y + c, &s, sizeof s);
    }
    for (; c < cols; c++) {
        float s = 0.0f;
        for (int t = 0; t < SIZE * SIZE; t++) s += w[t] * x[t / SIZE * wide + c + t % SIZE];
        y[c] = s;
    }
}

void conv2d(const float *x, const float *w, float *y, long planes, long rows, long cols) {
    long wide = cols + SIZE - 1, count = (rows + SIZE - 1) * wide;
    for (long p = 0; p < planes; p++, x += count, w += SIZE * SIZE, y += rows * cols) {
        if (rows * cols >= 64 && flat(x, count)) { /* background: one value for all of the plane */
            float s = 0.0f;
            for (int t = 0; t < SIZE * SIZE; t++) s += w[t] * *x;
            for (long i = 0; i < rows * cols; i++) y[i] = s;
            continue;
        }
        for (long r = 0; r < rows; r++) strip(x + r * wide, w, y + r * cols, wide, cols);
    }
}
