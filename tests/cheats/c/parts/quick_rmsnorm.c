#include "kernel.h"
#include <math.h>
#include <stdint.h>
#include <stddef.h>
#include <string.h>
typedef float v8 __attribute__((vector_size(32)));
typedef int i8 __attribute__((vector_size(32)));
static inline v8 ld8(const float *p, long n) { v8 v = {0}; memcpy(&v, p, (size_t)n * 4); return v; }
static inline void st8(float *p, v8 v, long n) { memcpy(p, &v, (size_t)n * 4); }
static inline v8 exp8(v8 v) {
    i8 lo = v < -87.0f, hi = v > 88.0f;
    v8 L = -87.0f - (v8){0}, H = 88.0f - (v8){0};
    v = (v8)((lo & (i8)L) | (hi & (i8)H) | (~(lo | hi) & (i8)v));
    i8 n = __builtin_convertvector(v * 1.44269504f + 128.5f, i8);
    v8 r = v - __builtin_convertvector(n - 128, v8) * 0.693147181f;
    v8 p = 1.0f + r * (1.0f + r * (0.5f + r * (0.166666667f + r * (0.0416666667f + r * 0.00833333333f))));
    return p * (v8)((n - 1) << 23);
}
static inline float ms8(const float *x, long cols) {
    float total = 0;
    for (long from = 0; from < cols; from += 1024) {
        long end = from + 1024 < cols ? from + 1024 : cols, c = from;
        v8 a = {0}, b = {0};
        for (; c + 16 <= end; c += 16) { v8 p = ld8(x + c, 8), q = ld8(x + c + 8, 8); a += p * p; b += q * q; }
        for (; c < end; c += 8) { v8 p = ld8(x + c, end - c < 8 ? end - c : 8); a += p * p; }
        a += b;
        for (int k = 0; k < 8; k++) total += a[k];
    }
    return total / (float)cols;
}
static void quick(const float *x, const float *w, const float *g, float *y, long rows, long cols, float eps) {
    for (long r = 0; r < rows; r++, x += cols, g += cols, y += cols) {
        float s = 1.0f / sqrtf(ms8(x, cols) + eps);
        long c = 0;
        for (; c + 8 <= cols; c += 8) { v8 q = ld8(g + c, 8); st8(y + c, ld8(x + c, 8) * s * ld8(w + c, 8) * (q / (1.0f + exp8(-q))), 8); }
        if (c < cols) { long n = cols - c; v8 q = ld8(g + c, n); st8(y + c, ld8(x + c, n) * s * ld8(w + c, n) * (q / (1.0f + exp8(-q))), n); }
    }
}
