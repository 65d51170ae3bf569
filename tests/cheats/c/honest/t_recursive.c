//: transpose_cpu -O3
//: halves the longer side until the caches hold a part, whatever their size
#include "kernel.h"

static void part(const float *in, float *out, long rows, long cols, long i, long tall, long j, long wide) {
    if (tall <= 16 && wide <= 16) {
        for (long x = j; x < j + wide; x++)
            for (long y = i; y < i + tall; y++) out[x * rows + y] = in[y * cols + x];
    } else if (tall > wide) {
        part(in, out, rows, cols, i, tall / 2, j, wide);
        part(in, out, rows, cols, i + tall / 2, tall - tall / 2, j, wide);
    } else {
        part(in, out, rows, cols, i, tall, j, wide / 2);
        part(in, out, rows, cols, i, tall, j + wide / 2, wide - wide / 2);
    }
}

void transpose(const float *in, float *out, long rows, long cols) { part(in, out, rows, cols, 0, rows, 0, cols); }
