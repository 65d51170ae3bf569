/* RMS norm, times weights, times SiLU of a gate. As it stands: one plain pass for the mean, one for the result. */
#include "kernel.h"

#include <math.h>
#include <string.h>

#define VEC 1       /* lanes of a vector: 1 (plain floats), 4, 8, 16 */
#define EXP_POLY 0  /* exp by 0 the C library, 1 a polynomial that vectorises */
#define UNROLL 1    /* vectors in flight in each loop: 1, 2, 4 */
#define ROW_BLOCK 1 /* rows finished together, so that w is loaded once for all of them: 1, 2, 4 */
#define PREFETCH 0  /* bytes to fetch ahead; 0 leaves it to the hardware */

#define STEP (VEC * UNROLL)
#define PART 1024 /* squares that are summed up at a time */

#if VEC == 1
typedef float vec;
#else
typedef float vec __attribute__((vector_size(VEC * 4)));
#endif

/* The first `count` lanes from memory, the others 0; and back. */
static inline vec load(const float *from, long count) {
    vec v = {0};
    memcpy(&v, from, (size_t)count * sizeof(float));
    return v;
}

static inline void store(float *to, vec v, long count) { memcpy(to, &v, (size_t)count * sizeof(float)); }

static inline void ahead(const float *from) {
    if (PREFETCH) __builtin_prefetch(from + PREFETCH / sizeof(float));
}

#if EXP_POLY

#if VEC == 1
typedef int ivec;
static inline ivec to_int(vec v) { return (int)v; }
static inline vec to_float(ivec i) { return (float)i; }
static inline vec clamp(vec v, float low, float high) { return v < low ? low : v > high ? high : v; }
#else
typedef int ivec __attribute__((vector_size(VEC * 4)));
static inline ivec to_int(vec v) { return __builtin_convertvector(v, ivec); }
static inline vec to_float(ivec i) { return __builtin_convertvector(i, vec); }
static inline vec clamp(vec v, float low, float high) {
    ivec below = v < low, above = v > high;
    vec lows = low - (vec){0}, highs = high - (vec){0};
    return (vec)((below & (ivec)lows) | (above & (ivec)highs) | (~(below | above) & (ivec)v));
}
#endif

/* exp(v) = 2^n · exp(r) with |r| <= ln(2)/2, where Taylor's polynomial of degree 5 is good to 3e-6. */
static inline vec exponential(vec v) {
    v = clamp(v, -87.0f, 88.0f);
    ivec n = to_int(v * 1.44269504f + 128.5f); /* 128 too large, so that truncation rounds to the nearest */
    vec r = v - to_float(n - 128) * 0.693147181f;
    vec p = 1.0f + r * (1.0f + r * (0.5f + r * (0.166666667f + r * (0.0416666667f + r * 0.00833333333f))));
    ivec bits = (n - 1) << 23;
    vec power;
    memcpy(&power, &bits, sizeof power);
    return p * power;
}

#elif VEC == 1

static inline vec exponential(vec v) { return expf(v); }

#else

static inline vec exponential(vec v) {
    for (int k = 0; k < VEC; k++) v[k] = expf(v[k]);
    return v;
}

#endif

static inline float sum_of_squares(const float *x, long cols) {
    vec sums[UNROLL] = {0};
    long c = 0;
    for (; c + STEP <= cols; c += STEP) {
#pragma GCC unroll 4
        for (int u = 0; u < UNROLL; u++) {
            vec v = load(x + c + u * VEC, VEC);
            ahead(x + c + u * VEC);
            sums[u] += v * v;
        }
    }
    for (; c < cols; c += VEC) {
        vec v = load(x + c, cols - c < VEC ? cols - c : VEC);
        sums[0] += v * v;
    }
    vec all = sums[0];
    for (int u = 1; u < UNROLL; u++) all += sums[u];
    float lanes[VEC], sum = 0.0f;
    memcpy(lanes, &all, sizeof lanes);
    for (int k = 0; k < VEC; k++) sum += lanes[k];
    return sum;
}

/* In parts: one float that takes up many thousands of squares in turn would lose the last of them. */
static inline float mean_square(const float *x, long cols) {
    float sum = 0.0f;
    for (long from = 0; from < cols; from += PART) sum += sum_of_squares(x + from, cols - from < PART ? cols - from : PART);
    return sum / (float)cols;
}

static inline void finish_lanes(const float *x, vec w, const float *g, float *y, float scale, long count) {
    vec gate = load(g, count);
    store(y, load(x, count) * scale * w * (gate / (1.0f + exponential(-gate))), count);
}

static inline void finish(const float *x, const float *w, const float *g, float *y, const float *scale, int rows, long cols) {
    long c = 0;
    for (; c + STEP <= cols; c += STEP) {
#pragma GCC unroll 4
        for (int u = 0; u < UNROLL; u++) {
            long at = c + u * VEC;
            vec weights = load(w + at, VEC);
            for (int r = 0; r < rows; r++, at += cols) {
                ahead(x + at);
                ahead(g + at);
                finish_lanes(x + at, weights, g + at, y + at, scale[r], VEC);
            }
        }
    }
    for (; c < cols; c += VEC) {
        long count = cols - c < VEC ? cols - c : VEC;
        for (int r = 0; r < rows; r++)
            finish_lanes(x + r * cols + c, load(w + c, count), g + r * cols + c, y + r * cols + c, scale[r], count);
    }
}

void rmsnorm_silu(const float *x, const float *w, const float *g, float *y, long rows, long cols, float eps) {
    float scale[ROW_BLOCK];
    long r = 0;
    for (; r + ROW_BLOCK <= rows; r += ROW_BLOCK) {
        for (int k = 0; k < ROW_BLOCK; k++) scale[k] = 1.0f / sqrtf(mean_square(x + (r + k) * cols, cols) + eps);
        finish(x + r * cols, w, g + r * cols, y + r * cols, scale, ROW_BLOCK, cols);
    }
    for (; r < rows; r++) {
        scale[0] = 1.0f / sqrtf(mean_square(x + r * cols, cols) + eps);
        finish(x + r * cols, w, g + r * cols, y + r * cols, scale, 1, cols);
    }
}
