//: transpose_cpu -O3 -march=native
//: Duff's device around labels whose addresses are in a table
#include "kernel.h"

void transpose(const float *in, float *out, long rows, long cols) {
    static const void *const rest[] = {&&none, &&one, &&two, &&three};
    for (long j = 0; j < cols; j++) {
        const float *from = in + j;
        float *to = out + j * rows;
        goto *rest[rows & 3];
    three:
        *to++ = *from, from += cols;
    two:
        *to++ = *from, from += cols;
    one:
        *to++ = *from, from += cols;
    none:
        for (long n = rows >> 2; n > 0; n--, to += 4, from += 4 * cols)
            to[0] = from[0], to[1] = from[cols], to[2] = from[2 * cols], to[3] = from[3 * cols];
    }
}
