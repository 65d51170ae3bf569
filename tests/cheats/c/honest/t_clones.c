//: transpose_cpu -O3
//: a version for each kind of processor, chosen by its features when it is called
#include "kernel.h"

#define BODY                                                                                   \
    for (long i = 0; i < rows; i += 16)                                                        \
        for (long j = 0; j < cols; j++)                                                        \
            for (long y = i; y < (i + 16 < rows ? i + 16 : rows); y++) out[j * rows + y] = in[y * cols + j];

__attribute__((target("avx2"))) static void wide(const float *in, float *out, long rows, long cols) { BODY }
static void narrow(const float *in, float *out, long rows, long cols) { BODY }

void transpose(const float *in, float *out, long rows, long cols) {
    if (__builtin_cpu_supports("avx2")) wide(in, out, rows, cols);
    else narrow(in, out, rows, cols);
}
