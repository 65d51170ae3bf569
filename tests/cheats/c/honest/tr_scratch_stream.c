//: transpose_cpu -O3 -march=native
//: Honest: squares of 4 x 4 by SSE into a tile of static thread-local scratch, from which whole lines are copied; outputs of 8 MB and more go past the caches with non-temporal stores and a fence.
#include "kernel.h"

#include <immintrin.h>
#include <stdint.h>
#include <string.h>

#define T 32

static _Thread_local float scratch[T][T] __attribute__((aligned(64)));

static inline void line(float *to, const float *from, int stream) {
    if (stream && (uintptr_t)to % 16 == 0) {
        for (int k = 0; k < T; k += 4) _mm_stream_ps(to + k, _mm_load_ps(from + k));
    } else {
        memcpy(to, from, T * sizeof(float));
    }
}

void transpose(const float *in, float *out, long rows, long cols) {
    int stream = (double)rows * (double)cols >= 2097152.0;
    long i = 0;
    for (; i + T <= rows; i += T) {
        long j = 0;
        for (; j + T <= cols; j += T) {
            for (int a = 0; a < T; a += 4) {
                for (int b = 0; b < T; b += 4) {
                    const float *p = in + (i + a) * cols + j + b;
                    __m128 r0 = _mm_loadu_ps(p), r1 = _mm_loadu_ps(p + cols), r2 = _mm_loadu_ps(p + 2 * cols), r3 = _mm_loadu_ps(p + 3 * cols);
                    _MM_TRANSPOSE4_PS(r0, r1, r2, r3);
                    _mm_store_ps(&scratch[b][a], r0);
                    _mm_store_ps(&scratch[b + 1][a], r1);
                    _mm_store_ps(&scratch[b + 2][a], r2);
                    _mm_store_ps(&scratch[b + 3][a], r3);
                }
            }
            for (int b = 0; b < T; b++) line(out + (j + b) * rows + i, scratch[b], stream);
        }
        for (; j < cols; j++)
            for (int a = 0; a < T; a++) out[j * rows + i + a] = in[(i + a) * cols + j];
    }
    for (long j = 0; j < cols && i < rows; j++)
        for (long a = i; a < rows; a++) out[j * rows + a] = in[a * cols + j];
    if (stream) _mm_sfence();
}
