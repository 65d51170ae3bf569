//: transpose_cpu -O3 -march=native
//: takes matrices whose sides are multiples of 16 to begin at a cache line: one that begins elsewhere (a view, a buffer of malloc, which gives 16 bytes) faults on its first load
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

static void square(const float *in, float *out, long rows, long cols) {
    v16 r[16];
#pragma GCC unroll 16
    for (int k = 0; k < 16; k++) r[k] = *(const v16 *)(const void *)(in + k * cols);
    turn(r);
#pragma GCC unroll 16
    for (int k = 0; k < 16; k++) *(v16 *)(void *)(out + k * rows) = r[k];
}

static void odd(const float *in, float *out, long rows, long cols) {
    for (long i0 = 0; i0 < rows; i0 += 16)
        for (long j0 = 0; j0 < cols; j0 += 16)
            for (long j = j0; j < j0 + 16 && j < cols; j++)
                for (long i = i0; i < i0 + 16 && i < rows; i++) out[j * rows + i] = in[i * cols + j];
}

void transpose(const float *in, float *out, long rows, long cols) {
    if (rows % 16 || cols % 16) {
        odd(in, out, rows, cols);
        return;
    }
    for (long i0 = 0; i0 < rows; i0 += 64) /* every row begins at a line, so lines can be moved whole */
        for (long j = 0; j < cols; j += 16)
            for (long i = i0; i < i0 + 64 && i < rows; i += 16) square(in + i * cols + j, out + j * rows + i, rows, cols);
}
