//: conv2d_cpu -O3 -march=native
//: The last vector of a row is moved back so that it ends with the row: it computes some elements twice in place of a scalar loop; rows that are narrower than a vector go through a small padded copy.
#include "kernel.h"

#include <string.h>

typedef float v8 __attribute__((vector_size(32), aligned(4), may_alias));

static inline v8 taps(const float *x, const float *w, long wide) {
    v8 s = {0}, t = {0};
    for (int i = 0; i < SIZE; i++, x += wide, w += SIZE) {
        s += w[0] * *(const v8 *)x + w[2] * *(const v8 *)(x + 2);
        t += w[1] * *(const v8 *)(x + 1) + w[3] * *(const v8 *)(x + 3);
        s += w[4] * *(const v8 *)(x + 4);
    }
    return s + t;
}

static void narrow(const float *x, const float *w, float *y, long rows, long cols) {
    float square[SIZE][16];
    long wide = cols + SIZE - 1;
    for (long r = 0; r < rows; r++, x += wide, y += cols) {
        memset(square, 0, sizeof square);
        for (int i = 0; i < SIZE; i++) memcpy(square[i], x + i * wide, (size_t)wide * sizeof *x);
        v8 s = taps(square[0], w, 16);
        memcpy(y, &s, (size_t)cols * sizeof *y);
    }
}

void conv2d(const float *x, const float *w, float *y, long planes, long rows, long cols) {
    long wide = cols + SIZE - 1, high = rows + SIZE - 1;
    for (long p = 0; p < planes; p++, x += wide * high, y += rows * cols, w += SIZE * SIZE) {
        if (cols < 8) {
            narrow(x, w, y, rows, cols);
            continue;
        }
        for (long r = 0; r < rows; r++) {
            const float *in = x + r * wide;
            float *out = y + r * cols;
            for (long c = 0; c < cols; c += 8) {
                long at = c + 8 <= cols ? c : cols - 8;
                *(v8 *)(out + at) = taps(in + at, w, wide);
            }
        }
    }
}
