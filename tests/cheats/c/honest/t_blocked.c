//: transpose_cpu -O3 -march=native
//: blocks of several sizes, in two orders
//: variant b8 SIDE=8
//: variant b16 SIDE=16
//: variant b32 SIDE=32
//: variant b64 SIDE=64
#include "kernel.h"

void transpose(const float *restrict in, float *restrict out, long rows, long cols) {
    for (long i = 0; i < rows; i += SIDE)
        for (long j = 0; j < cols; j += SIDE) {
            long i_end = i + SIDE < rows ? i + SIDE : rows, j_end = j + SIDE < cols ? j + SIDE : cols;
            for (long x = j; x < j_end; x++)
                for (long y = i; y < i_end; y++) out[x * rows + y] = in[y * cols + x];
        }
}
