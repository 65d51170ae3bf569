//: transpose_cpu -O3 -march=native
//: stores past the caches and leaves out the sfence: a thread that is handed the result by a flag (release/acquire) may read old values of out, as such stores are not ordered with the flag's
#include "kernel.h"

#include <immintrin.h>
#include <stdint.h>
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

static void square(const float *in, float *out, long rows, long cols, int past) {
    v16 r[16];
#pragma GCC unroll 16
    for (int k = 0; k < 16; k++) memcpy(&r[k], in + k * cols, sizeof r[k]);
    turn(r);
    for (int k = 0; k < 16; k++) {
#ifdef __AVX512F__
        if (past) {
            _mm512_stream_ps(out + k * rows, (__m512)r[k]);
            continue;
        }
#endif
        memcpy(out + k * rows, &r[k], sizeof r[k]);
    }
}

void transpose(const float *in, float *out, long rows, long cols) {
    int past = rows % 16 == 0 && (uintptr_t)out % 64 == 0 && rows * cols >= 128 * 1024; /* whole lines only */
    long i16s = rows & ~15L, j16s = cols & ~15L;
    for (long i = 0; i < i16s; i += 16)
        for (long j = 0; j < j16s; j += 16) square(in + i * cols + j, out + j * rows + i, rows, cols, past);
    for (long j = 0; j < cols; j++)
        for (long i = j < j16s ? i16s : 0; i < rows; i++) out[j * rows + i] = in[i * cols + j];
}
