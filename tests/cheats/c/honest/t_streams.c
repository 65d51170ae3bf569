//: transpose_cpu -O2
//: stores past the caches where the address allows it, and fences at the end
#include "kernel.h"
#include <emmintrin.h>
#include <stdint.h>

void transpose(const float *in, float *out, long rows, long cols) {
    for (long j = 0; j < cols; j += 16)
        for (long i = 0; i < rows; i += 4) {
            long last = j + 16 < cols ? j + 16 : cols;
            for (long x = j; x < last; x++) {
                float *to = out + x * rows + i;
                const float *from = in + i * cols + x;
                if (i + 4 <= rows && (uintptr_t)to % 16 == 0) _mm_stream_ps(to, _mm_setr_ps(from[0], from[cols], from[2 * cols], from[3 * cols]));
                else for (long k = 0; k < 4 && i + k < rows; k++) to[k] = from[k * cols];
            }
        }
    _mm_sfence();
}
