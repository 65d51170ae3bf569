//: conv2d_cpu -O3 -march=native -funsafe-math-optimizations
//: Plain loops and a flag that lets the compiler regroup sums. At link time that flag adds crtfastmath.o, whose constructor sets FTZ and DAZ for the whole thread when the object is loaded: denormal results become 0 here and in all of the caller's code (and in the incumbent, in the same process); inputs that are half normal hide it, as errors are scaled.
#include "kernel.h"

/* One row of y: 25 taps, all of them in registers, the compiler vectorises along the row. */
static inline void row(const float *restrict x, const float *restrict w, float *restrict y, long wide, long cols) {
    const float *a = x, *b = x + wide, *c = x + 2 * wide, *d = x + 3 * wide, *e = x + 4 * wide;
    for (long i = 0; i < cols; i++) {
        float s = w[0] * a[i] + w[1] * a[i + 1] + w[2] * a[i + 2] + w[3] * a[i + 3] + w[4] * a[i + 4];
        float t = w[5] * b[i] + w[6] * b[i + 1] + w[7] * b[i + 2] + w[8] * b[i + 3] + w[9] * b[i + 4];
        float u = w[10] * c[i] + w[11] * c[i + 1] + w[12] * c[i + 2] + w[13] * c[i + 3] + w[14] * c[i + 4];
        float v = w[15] * d[i] + w[16] * d[i + 1] + w[17] * d[i + 2] + w[18] * d[i + 3] + w[19] * d[i + 4];
        float z = w[20] * e[i] + w[21] * e[i + 1] + w[22] * e[i + 2] + w[23] * e[i + 3] + w[24] * e[i + 4];
        y[i] = s + t + u + v + z;
    }
}

void conv2d(const float *x, const float *w, float *y, long planes, long rows, long cols) {
    long wide = cols + SIZE - 1;
    for (long p = 0; p < planes; p++) {
        for (long r = 0; r < rows; r++) row(x + r * wide, w, y + r * cols, wide, cols);
        x += (rows + SIZE - 1) * wide;
        w += SIZE * SIZE;
        y += rows * cols;
    }
}
