//: rmsnorm_silu_cpu -O3 -march=native
//: exp in double precision by thirteen squarings of a short polynomial of v / 8192, which takes no bits apart and vectorises by itself
#include "kernel.h"
#include <math.h>
#include <string.h>

typedef float singles __attribute__((vector_size(32)));
typedef double doubles __attribute__((vector_size(64)));

static inline double exponential(double v) {
    v = v < -700.0 ? -700.0 : v > 700.0 ? 700.0 : v;
    double t = v * (1.0 / 8192), p = 1.0 + t * (1.0 + t * (0.5 + t * (1.0 / 6)));
    for (int k = 0; k < 13; k++) p *= p;
    return p;
}

static double sum_of_squares(const float *restrict x, long cols) {
    doubles a = {0}, b = {0};
    double sum = 0.0;
    long c = 0;
    for (; c + 16 <= cols; c += 16) {
        singles p, q;
        memcpy(&p, x + c, sizeof p);
        memcpy(&q, x + c + 8, sizeof q);
        doubles u = __builtin_convertvector(p, doubles), v = __builtin_convertvector(q, doubles);
        a += u * u;
        b += v * v;
    }
    for (; c < cols; c++) sum += (double)x[c] * x[c];
    a += b;
    for (int k = 0; k < 8; k++) sum += a[k];
    return sum;
}

void rmsnorm_silu(const float *restrict x, const float *restrict w, const float *restrict g, float *restrict y, long rows, long cols,
                  float eps) {
    for (long r = 0; r < rows; r++, x += cols, g += cols, y += cols) {
        double scale = 1.0 / sqrt(sum_of_squares(x, cols) / (double)cols + (double)eps);
        for (long c = 0; c < cols; c++) {
            double gate = g[c];
            y[c] = (float)(x[c] * scale * w[c] * (gate / (1.0 + exponential(-gate))));
        }
    }
}
