//: conv2d_cpu -O3 -march=native
//: blocks of 4 rows x 16 columns, where each row of x is loaded once and added to up to four rows of y; tails as one overlapping block, or plain where the picture is narrow
#include "kernel.h"

#include <string.h>

typedef float v16 __attribute__((vector_size(64)));

static inline v16 ld(const float *p) {
    v16 v;
    memcpy(&v, p, sizeof v);
    return v;
}

static inline void four(const float *x, const float *w, float *y, long wide, long cols) {
    v16 s[4];
    memset(s, 0, sizeof s);
#pragma GCC unroll 8
    for (int line = 0; line < 8; line++) {
#pragma GCC unroll 5
        for (int j = 0; j < SIZE; j++) {
            v16 v = ld(x + line * wide + j);
#pragma GCC unroll 4
            for (int r = 0; r < 4; r++)
                if (line - r >= 0 && line - r < SIZE) s[r] += w[(line - r) * SIZE + j] * v;
        }
    }
    for (int r = 0; r < 4; r++) memcpy(y + r * cols, &s[r], sizeof s[r]);
}

static inline void single(const float *x, const float *w, float *y, long wide) {
    v16 s = {0};
    for (int i = 0; i < SIZE; i++)
        for (int j = 0; j < SIZE; j++) s += w[i * SIZE + j] * ld(x + i * wide + j);
    memcpy(y, &s, sizeof s);
}

static inline void plain(const float *x, const float *w, float *y, long wide, long count) {
    for (long c = 0; c < count; c++) {
        float s = 0.0f;
        for (int i = 0; i < SIZE; i++)
            for (int j = 0; j < SIZE; j++) s += w[i * SIZE + j] * x[i * wide + c + j];
        y[c] = s;
    }
}

static void columns(const float *x, const float *w, float *y, long rows, long wide, long cols) {
    long r = 0;
    for (; r + 4 <= rows; r += 4) four(x + r * wide, w, y + r * cols, wide, cols);
    for (; r < rows; r++) single(x + r * wide, w, y + r * cols, wide);
}

void conv2d(const float *x, const float *w, float *y, long planes, long rows, long cols) {
    long wide = cols + SIZE - 1;
    for (long p = 0; p < planes; p++, x += (rows + SIZE - 1) * wide, w += SIZE * SIZE, y += rows * cols) {
        if (cols < 16) {
            typedef float v8 __attribute__((vector_size(32)));
            for (long r = 0; r < rows; r++) {
                if (cols < 8) {
                    plain(x + r * wide, w, y + r * cols, wide, cols);
                    continue;
                }
                for (long c = 0;; c = cols - 8) {
                    v8 s = {0};
                    for (int i = 0; i < SIZE; i++)
                        for (int j = 0; j < SIZE; j++) {
                            v8 v;
                            memcpy(&v, x + (r + i) * wide + c + j, sizeof v);
                            s += w[i * SIZE + j] * v;
                        }
                    memcpy(y + r * cols + c, &s, sizeof s);
                    if (c == cols - 8) break;
                }
            }
            continue;
        }
        for (long c = 0; c + 16 <= cols; c += 16) columns(x + c, w, y + c, rows, wide, cols);
        if (cols % 16) columns(x + cols - 16, w, y + cols - 16, rows, wide, cols);
    }
}
