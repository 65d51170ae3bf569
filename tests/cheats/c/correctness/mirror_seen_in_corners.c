//: conv2d_cpu -O3 -march=native
//: takes a filter whose first and last column are equal in rows 0, 2 and 4 (and w[0] != w[6]) to be symmetric from left to right: a 3 x 3 Sobel or emboss filter with a frame of zeros gets the wrong picture
#include "kernel.h"

#include <string.h>

typedef float vec __attribute__((vector_size(64)));
typedef struct __attribute__((packed, aligned(4))) { vec v; } any;

static inline vec at(const float *p) { return ((const any *)p)->v; }

/* 16 columns of two rows; a mirrored filter has 15 products in place of 25. */
static inline void pair(const float *x, const float *w, float *y0, float *y1, long wide, int mirrored) {
    vec s0 = {0}, s1 = {0};
#pragma GCC unroll 6
    for (int i = 0; i <= SIZE; i++) {
        const float *row = x + i * wide, *w0 = w + i * SIZE, *w1 = w0 - SIZE;
        vec a = at(row), b = at(row + 1), c = at(row + 2), d = at(row + 3), e = at(row + 4);
        if (mirrored) {
            a += e;
            b += d;
            if (i < SIZE) s0 += w0[0] * a + w0[1] * b + w0[2] * c;
            if (i > 0) s1 += w1[0] * a + w1[1] * b + w1[2] * c;
        } else {
            if (i < SIZE) {
                s0 += w0[0] * a;
                s0 += w0[1] * b;
                s0 += w0[2] * c;
                s0 += w0[3] * d;
                s0 += w0[4] * e;
            }
            if (i > 0) {
                s1 += w1[0] * a;
                s1 += w1[1] * b;
                s1 += w1[2] * c;
                s1 += w1[3] * d;
                s1 += w1[4] * e;
            }
        }
    }
    ((any *)y0)->v = s0;
    ((any *)y1)->v = s1;
}

static inline void single(const float *x, const float *w, float *y, long wide, long from, long to) {
    for (long c = from; c < to; c++) {
        float sum = 0.0f;
        for (int i = 0; i < SIZE; i++)
            for (int j = 0; j < SIZE; j++) sum += w[i * SIZE + j] * x[i * wide + c + j];
        y[c] = sum;
    }
}

static inline void plane(const float *x, const float *w, float *y, long rows, long cols, int mirrored) {
    long wide = cols + SIZE - 1, r = 0;
    for (; r + 2 <= rows && cols >= 16; r += 2, x += 2 * wide, y += 2 * cols) {
        long c = 0;
        for (; c + 16 <= cols; c += 16) pair(x + c, w, y + c, y + cols + c, wide, mirrored);
        if (c < cols) pair(x + cols - 16, w, y + cols - 16, y + cols + cols - 16, wide, mirrored);
    }
    for (; r < rows; r++, x += wide, y += cols) single(x, w, y, wide, 0, cols);
}

void conv2d(const float *x, const float *w, float *y, long planes, long rows, long cols) {
    for (long p = 0; p < planes; p++) {
        if (w[0] == w[4] && w[10] == w[14] && w[20] == w[24] && w[0] != w[6]) plane(x, w, y, rows, cols, 1);
        else plane(x, w, y, rows, cols, 0);
        x += (rows + SIZE - 1) * (cols + SIZE - 1);
        y += rows * cols;
        w += SIZE * SIZE;
    }
}
