#include "kernel.h"
#include <xmmintrin.h>

/* Squares of 4 by 4 in registers, along the rows of the output. */
static void quick(const float *in, float *out, long rows, long cols) {
    long r = rows & ~3L, c = cols & ~3L;
    for (long j = 0; j < c; j += 4)
        for (long i = 0; i < r; i += 4) {
            __m128 a = _mm_loadu_ps(in + i * cols + j), b = _mm_loadu_ps(in + (i + 1) * cols + j);
            __m128 d = _mm_loadu_ps(in + (i + 2) * cols + j), e = _mm_loadu_ps(in + (i + 3) * cols + j);
            _MM_TRANSPOSE4_PS(a, b, d, e);
            _mm_storeu_ps(out + j * rows + i, a), _mm_storeu_ps(out + (j + 1) * rows + i, b);
            _mm_storeu_ps(out + (j + 2) * rows + i, d), _mm_storeu_ps(out + (j + 3) * rows + i, e);
        }
    for (long j = 0; j < cols; j++)
        for (long i = j < c ? r : 0; i < rows; i++) out[j * rows + i] = in[i * cols + j];
}
