//: rmsnorm_silu_cpu -O3 -march=native -fno-math-errno
//: a constructor allocates and fills a table for exp, a destructor frees it; GCC's vectors for everything else
#include "kernel.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define LUT_BITS 8
#define LUT_SIZE (1 << LUT_BITS)

typedef float f32x8 __attribute__((vector_size(32)));
typedef int32_t i32x8 __attribute__((vector_size(32)));
typedef f32x8 f32x8_u __attribute__((aligned(4), may_alias));

typedef union {
    f32x8 f;
    i32x8 i;
    float lane[8];
    int32_t index[8];
} v8;

static float *lut;

__attribute__((constructor)) static void lut_create(void) {
    lut = aligned_alloc(64, LUT_SIZE * sizeof *lut);
    if (!lut) {
        fputs("rmsnorm_silu: out of memory\n", stderr);
        abort();
    }
    for (int i = 0; i < LUT_SIZE; i++) lut[i] = (float)exp2((double)i / LUT_SIZE);
}

__attribute__((destructor)) static void lut_destroy(void) { free(lut); }

static inline f32x8 select8(i32x8 mask, f32x8 yes, f32x8 no) { return (f32x8)((mask & (i32x8)yes) | (~mask & (i32x8)no)); }

static inline f32x8 exp8(f32x8 v) {
    const f32x8 one = (f32x8){} + 1.0f;
    f32x8 u = select8(v < -87.0f, -87.0f * one, select8(v > 88.0f, 88.0f * one, v));
    v8 n, t, p;
    const f32x8 magic = 0x1.8p23f * one;
    f32x8 shifted = u * (LUT_SIZE * 1.44269504f) + magic;
    n.i = (i32x8)shifted - (i32x8)magic;
    f32x8 whole = shifted - magic;
    f32x8 r = (u - whole * (0x1.62p-1f / LUT_SIZE)) - whole * (0x1.c85fdfp-10f / LUT_SIZE);
    for (int k = 0; k < 8; k++) t.lane[k] = lut[n.index[k] & (LUT_SIZE - 1)];
    p.i = ((n.i >> LUT_BITS) + 127) << 23;
    f32x8 e = p.f * t.f * (one + r * (one + r * (0.5f + r * 0.16666667f)));
    return select8(v > 88.0f, INFINITY * one, e);
}

static inline f32x8 load8(const float *p) { return *(const f32x8_u *)p; }
static inline void store8(float *p, f32x8 v) { *(f32x8_u *)p = v; }

static float inv_rms(const float *x, long n, float eps) {
    v8 a = {.f = {0}}, b = a;
    long i = 0;
    for (; i + 16 <= n; i += 16) {
        f32x8 lo = load8(x + i), hi = load8(x + i + 8);
        a.f += lo * lo;
        b.f += hi * hi;
    }
    a.f += b.f;
    float s = ((a.lane[0] + a.lane[1]) + (a.lane[2] + a.lane[3])) + ((a.lane[4] + a.lane[5]) + (a.lane[6] + a.lane[7]));
    for (; i < n; i++) s += x[i] * x[i];
    return 1.0f / sqrtf(s / (float)n + eps);
}

void rmsnorm_silu(const float *x, const float *w, const float *g, float *y, long rows, long cols, float eps) {
    for (long r = 0; r < rows; r++, x += cols, g += cols, y += cols) {
        const float inv = inv_rms(x, cols, eps);
        long c = 0;
        for (; c + 8 <= cols; c += 8) {
            f32x8 gate = load8(g + c);
            store8(y + c, load8(x + c) * inv * load8(w + c) * (gate / (1.0f + exp8(-gate))));
        }
        for (; c < cols; c++) y[c] = x[c] * inv * w[c] * (g[c] / (1.0f + expf(-g[c])));
    }
}
