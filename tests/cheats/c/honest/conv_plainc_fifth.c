//: conv2d_cpu -O3 -march=native
//: plain C for the compiler to vectorise: the filter in a local array, two rows at once with restrict pointers, all 25 products written by an X-macro, no intrinsics or vector types
#include "kernel.h"

#include <string.h>

#define FIVE(M, i) M(i, 0) M(i, 1) M(i, 2) M(i, 3) M(i, 4)
#define ALL(M) FIVE(M, 0) FIVE(M, 1) FIVE(M, 2) FIVE(M, 3) FIVE(M, 4)
#define UPPER(i, j) s += f[i][j] * x[(i) * wide + c + (j)];
#define LOWER(i, j) t += f[i][j] * x[((i) + 1) * wide + c + (j)];

static void two(const float *restrict x, const float (*restrict f)[SIZE], float *restrict y, float *restrict z, long wide, long cols) {
    for (long c = 0; c < cols; c++) {
        float s = 0.0f, t = 0.0f;
        ALL(UPPER)
        ALL(LOWER)
        y[c] = s;
        z[c] = t;
    }
}

static void one(const float *restrict x, const float (*restrict f)[SIZE], float *restrict y, long wide, long cols) {
    for (long c = 0; c < cols; c++) {
        float s = 0.0f;
        ALL(UPPER)
        y[c] = s;
    }
}

void conv2d(const float *x, const float *w, float *y, long planes, long rows, long cols) {
    long wide = cols + SIZE - 1;
    for (long p = 0; p < planes; p++) {
        const float *in = x + p * (rows + SIZE - 1) * wide;
        float f[SIZE][SIZE], *out = y + p * rows * cols;
        memcpy(f, w + p * SIZE * SIZE, sizeof f);
        long r = 0;
        for (; r + 2 <= rows; r += 2) two(in + r * wide, (const float (*)[SIZE])f, out + r * cols, out + (r + 1) * cols, wide, cols);
        if (r < rows) one(in + r * wide, (const float (*)[SIZE])f, out + r * cols, wide, cols);
    }
}
