/* Convolution with filters of 5 × 5. As it stands: the filter at each element in turn. */
#include "kernel.h"

#include <string.h>

#define VEC 1    /* lanes of a vector: 1 (plain floats), 4, 8, 16 */
#define COLS 1   /* vectors of a row that stay in registers: 1, 2, 4 */
#define ROWS 1   /* rows that are worked on together: 1, 2, 4 */
#define SPLIT 0  /* 1 adds the rows of a filter to one another at the end: shorter chains of sums */

#if VEC == 1
typedef float vec;
#else
typedef float vec __attribute__((vector_size(VEC * 4)));
#endif

#define WIDTH (VEC * COLS)

static inline vec load(const float *from) {
    vec v;
    memcpy(&v, from, sizeof v);
    return v;
}

static inline void store(float *to, vec v) { memcpy(to, &v, sizeof v); }

/* Elements of `rows` rows, ROWS or 1, that lie side by side; `wide` are those of x. */
static inline void block(const float *x, const float *w, float *y, long wide, long cols, int rows) {
    vec sums[ROWS][COLS];
    memset(sums, 0, sizeof sums);
    for (int i = 0; i < SIZE; i++) {
        for (int r = 0; r < rows; r++) {
            for (int v = 0; v < COLS; v++) {
                vec part = SPLIT ? (vec){0} : sums[r][v];
#pragma GCC unroll 5
                for (int j = 0; j < SIZE; j++) part += w[i * SIZE + j] * load(x + (r + i) * wide + j + v * VEC);
                sums[r][v] = SPLIT ? sums[r][v] + part : part;
            }
        }
    }
    for (int r = 0; r < rows; r++)
        for (int v = 0; v < COLS; v++) store(y + r * cols + v * VEC, sums[r][v]);
}

static inline void one(const float *x, const float *w, float *y, long wide) {
    float sum = 0.0f;
    for (int i = 0; i < SIZE; i++)
        for (int j = 0; j < SIZE; j++) sum += w[i * SIZE + j] * x[i * wide + j];
    *y = sum;
}

static inline void plane(const float *x, const float *w, float *y, long rows, long cols) {
    long wide = cols + SIZE - 1, blocked = WIDTH * ROWS == 1 ? 0 : cols - cols % WIDTH;
    for (long r = 0; r < rows;) {
        int together = r + ROWS <= rows ? ROWS : 1;
        for (long c = 0; c < blocked; c += WIDTH) {
            if (together == ROWS) block(x + r * wide + c, w, y + r * cols + c, wide, cols, ROWS);
            else block(x + r * wide + c, w, y + r * cols + c, wide, cols, 1);
        }
        for (long end = r + together; r < end; r++)
            for (long c = blocked; c < cols; c++) one(x + r * wide + c, w, y + r * cols + c, wide);
    }
}

void conv2d(const float *x, const float *w, float *y, long planes, long rows, long cols) {
    long wide = (rows + SIZE - 1) * (cols + SIZE - 1);
    for (long p = 0; p < planes; p++) plane(x + p * wide, w + p * SIZE * SIZE, y + p * rows * cols, rows, cols);
}
