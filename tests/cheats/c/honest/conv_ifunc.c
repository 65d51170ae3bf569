//: conv2d_cpu -O3
//: the loader resolves the function by what the processor can (ifunc); one body for all, with GCC's vectors
#include "kernel.h"

#include <string.h>

typedef float vec __attribute__((vector_size(32), aligned(4)));
#define INLINE static inline __attribute__((always_inline))
#define LANES 8
#define TALL 4

INLINE void put(float *to, const vec *v) { memcpy(to, v, sizeof *v); }

/* Four rows of eight columns: each vector of x that is loaded serves up to four rows of y. */
INLINE void tile(const float *x, const float *w, float *y, long pitch, long cols) {
    vec s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0};
    for (long i = 0; i < SIZE + TALL - 1; i++) {
        for (long j = 0; j < SIZE; j++) {
            vec v;
            memcpy(&v, x + i * pitch + j, sizeof v);
            if (i < SIZE) s0 += w[i * SIZE + j] * v;
            if (i >= 1 && i - 1 < SIZE) s1 += w[(i - 1) * SIZE + j] * v;
            if (i >= 2 && i - 2 < SIZE) s2 += w[(i - 2) * SIZE + j] * v;
            if (i >= 3 && i - 3 < SIZE) s3 += w[(i - 3) * SIZE + j] * v;
        }
    }
    put(y, &s0);
    put(y + cols, &s1);
    put(y + 2 * cols, &s2);
    put(y + 3 * cols, &s3);
}

INLINE void single(const float *x, const float *w, float *y, long pitch) {
    float s = 0.0f;
    for (long i = 0; i < SIZE; i++)
        for (long j = 0; j < SIZE; j++) s += w[i * SIZE + j] * x[i * pitch + j];
    *y = s;
}

INLINE void picture(const float *x, const float *w, float *y, long planes, long rows, long cols) {
    const long pitch = cols + SIZE - 1, tall = rows / TALL * TALL, wide = cols / LANES * LANES;
    for (long p = 0; p < planes; p++) {
        for (long r = 0; r < tall; r += TALL)
            for (long c = 0; c < wide; c += LANES) tile(x + r * pitch + c, w, y + r * cols + c, pitch, cols);
        for (long r = 0; r < rows; r++)
            for (long c = r < tall ? wide : 0; c < cols; c++) single(x + r * pitch + c, w, y + r * cols + c, pitch);
        x += (rows + SIZE - 1) * pitch;
        y += rows * cols;
        w += SIZE * SIZE;
    }
}

#define VERSION(name, isa)                                                                                                   \
    isa static void conv2d_##name(const float *x, const float *w, float *y, long planes, long rows, long cols) {             \
        picture(x, w, y, planes, rows, cols);                                                                                \
    }
VERSION(base, )
VERSION(fma, __attribute__((target("avx2,fma"))))

typedef void conv2d_fn(const float *, const float *, float *, long, long, long);

static conv2d_fn *resolve_conv2d(void) {
    __builtin_cpu_init();
    return __builtin_cpu_supports("fma") && __builtin_cpu_supports("avx2") ? conv2d_fma : conv2d_base;
}

void conv2d(const float *x, const float *w, float *y, long planes, long rows, long cols) __attribute__((ifunc("resolve_conv2d")));
