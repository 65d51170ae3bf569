//: transpose_cpu -O2
//: squares of four by four with intrinsics
#include "kernel.h"
#include <xmmintrin.h>

static void square(const float *in, float *out, long rows, long cols) {
    __m128 a = _mm_loadu_ps(in), b = _mm_loadu_ps(in + cols), c = _mm_loadu_ps(in + 2 * cols), d = _mm_loadu_ps(in + 3 * cols);
    _MM_TRANSPOSE4_PS(a, b, c, d);
    _mm_storeu_ps(out, a);
    _mm_storeu_ps(out + rows, b);
    _mm_storeu_ps(out + 2 * rows, c);
    _mm_storeu_ps(out + 3 * rows, d);
}

void transpose(const float *in, float *out, long rows, long cols) {
    long down = rows & ~3, across = cols & ~3;
    for (long i = 0; i < down; i += 4)
        for (long j = 0; j < across; j += 4) square(in + i * cols + j, out + j * rows + i, rows, cols);
    for (long i = 0; i < rows; i++)
        for (long j = i < down ? across : 0; j < cols; j++) out[j * rows + i] = in[i * cols + j];
}
