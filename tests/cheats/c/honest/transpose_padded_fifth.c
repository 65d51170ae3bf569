//: transpose_cpu -O3 -march=native
//: 16 x 16 squares turned in registers with generic vectors; edges go through a padded square of the same size on the stack, so there is one code path; columns of squares in strips of 64
#include "kernel.h"

#include <string.h>

typedef float v16 __attribute__((vector_size(64)));
typedef int i16 __attribute__((vector_size(64)));

/* Exchange what lies across the diagonal at distance `by`, in four steps. */
#define STEP(by, LOW, UP)                                       \
    for (int k = 0; k < 16; k++)                                \
        if (!(k & by)) {                                        \
            v16 low = __builtin_shuffle(r[k], r[k + by], LOW);  \
            r[k + by] = __builtin_shuffle(r[k], r[k + by], UP); \
            r[k] = low;                                         \
        }

static inline __attribute__((always_inline)) void turn(v16 *r) {
    static const i16 l1 = {0, 16, 2, 18, 4, 20, 6, 22, 8, 24, 10, 26, 12, 28, 14, 30}, u1 = {1, 17, 3, 19, 5, 21, 7, 23, 9, 25, 11, 27, 13, 29, 15, 31};
    static const i16 l2 = {0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29}, u2 = {2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31};
    static const i16 l4 = {0, 1, 2, 3, 16, 17, 18, 19, 8, 9, 10, 11, 24, 25, 26, 27}, u4 = {4, 5, 6, 7, 20, 21, 22, 23, 12, 13, 14, 15, 28, 29, 30, 31};
    static const i16 l8 = {0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23}, u8 = {8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31};
#pragma GCC unroll 16
    STEP(1, l1, u1)
#pragma GCC unroll 16
    STEP(2, l2, u2)
#pragma GCC unroll 16
    STEP(4, l4, u4)
#pragma GCC unroll 16
    STEP(8, l8, u8)
}

static void whole(const float *in, float *out, long rows, long cols) {
    v16 r[16];
#pragma GCC unroll 16
    for (int k = 0; k < 16; k++) memcpy(&r[k], in + k * cols, sizeof r[k]);
    turn(r);
#pragma GCC unroll 16
    for (int k = 0; k < 16; k++) memcpy(out + k * rows, &r[k], sizeof r[k]);
}

static void edge(const float *in, float *out, long rows, long cols, long tall, long wide) {
    float from[16][16] = {{0}}, to[16][16];
    for (long y = 0; y < tall; y++) memcpy(from[y], in + y * cols, (size_t)wide * sizeof(float));
    whole(from[0], to[0], 16, 16);
    for (long x = 0; x < wide; x++) memcpy(out + x * rows, to[x], (size_t)tall * sizeof(float));
}

void transpose(const float *in, float *out, long rows, long cols) {
    for (long strip = 0; strip < rows; strip += 64)
        for (long j = 0; j < cols; j += 16)
            for (long i = strip; i < strip + 64 && i < rows; i += 16) {
                long tall = rows - i < 16 ? rows - i : 16, wide = cols - j < 16 ? cols - j : 16;
                if (tall == 16 && wide == 16) whole(in + i * cols + j, out + j * rows + i, rows, cols);
                else edge(in + i * cols + j, out + j * rows + i, rows, cols, tall, wide);
            }
}
