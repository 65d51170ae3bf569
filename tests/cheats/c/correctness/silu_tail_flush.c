//: rmsnorm_silu_cpu -O3 -march=native
//: takes silu(g) as 0 for every finite g < -32; wrong where w is large (1e6 to 1e12) while g is moderate (-32 to -60): y of 0.01 and more becomes 0, never seen if all buffers are of one kind
#include "kernel.h"

#include <math.h>
#include <string.h>

typedef float vec __attribute__((vector_size(64)));
typedef int ivec __attribute__((vector_size(64)));

static inline vec load(const float *from, long count) {
    vec v = {0};
    memcpy(&v, from, (size_t)count * sizeof(float));
    return v;
}

static inline vec either(ivec yes, vec a, vec b) { return (vec)((yes & (ivec)a) | (~yes & (ivec)b)); }

/* silu(g); below -32 nothing is left of it in the sum of magnitudes that a float holds. */
static inline vec silu(vec g) {
    ivec far = (g < -32.0f) & (g > -3.0e38f);
    vec v = -g;
    v = either(v < -87.0f, (vec){0} - 87.0f, v);
    v = either(v > 88.0f, (vec){0} + 88.0f, v);
    ivec n = __builtin_convertvector(v * 1.44269504f + 128.5f, ivec);
    vec f = __builtin_convertvector(n - 128, vec);
    vec r = (v - f * 0.693359375f) + f * 2.12194440e-4f;
    vec p = 1.0f + r * (1.0f + r * (0.5f + r * (0.166666667f + r * (0.0416666667f + r * (0.00833333333f + r * 0.00138888889f)))));
    vec power = (vec)((n - 1) << 23);
    vec s = g / (1.0f + p * power);
    return (vec)((ivec)s & ~far);
}

static inline float squares(const float *x, long cols) {
    vec s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0};
    long c = 0;
    for (; c + 64 <= cols; c += 64) {
        vec a = load(x + c, 16), b = load(x + c + 16, 16), d = load(x + c + 32, 16), e = load(x + c + 48, 16);
        s0 += a * a;
        s1 += b * b;
        s2 += d * d;
        s3 += e * e;
    }
    for (; c < cols; c += 16) {
        vec a = load(x + c, cols - c < 16 ? cols - c : 16);
        s0 += a * a;
    }
    s0 = (s0 + s1) + (s2 + s3);
    float sum = 0.0f;
    for (int k = 0; k < 16; k++) sum += s0[k];
    return sum;
}

void rmsnorm_silu(const float *x, const float *w, const float *g, float *y, long rows, long cols, float eps) {
    for (long r = 0; r < rows; r++, x += cols, g += cols, y += cols) {
        float scale = 1.0f / sqrtf(squares(x, cols) / (float)cols + eps);
        long c = 0;
        for (; c + 16 <= cols; c += 16) {
            vec out = load(x + c, 16) * scale * load(w + c, 16) * silu(load(g + c, 16));
            memcpy(y + c, &out, sizeof out);
        }
        if (c < cols) {
            vec out = load(x + c, cols - c) * scale * load(w + c, cols - c) * silu(load(g + c, cols - c));
            memcpy(y + c, &out, (size_t)(cols - c) * sizeof(float));
        }
    }
}
