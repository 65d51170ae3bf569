//: conv2d_cpu -O3 -march=native -fopenmp-simd
//: A row of results is summed up in a small local array, a tap at a time, by loops that the compiler vectorises.
#include "kernel.h"

#include <string.h>

#define CHUNK 256

void conv2d(const float *restrict x, const float *restrict w, float *restrict y, long planes, long rows, long cols) {
    const long wide = cols + SIZE - 1;
    float sums[CHUNK];
    for (long p = 0; p < planes; p++, x += (SIZE - 1) * wide, w += SIZE * SIZE)
        for (long r = 0; r < rows; r++, x += wide, y += cols)
            for (long c = 0; c < cols; c += CHUNK) {
                long width = cols - c < CHUNK ? cols - c : CHUNK;
                memset(sums, 0, sizeof sums);
                for (int i = 0; i < SIZE; i++) {
                    const float *in = x + i * wide + c;
                    const float w0 = w[i * SIZE], w1 = w[i * SIZE + 1], w2 = w[i * SIZE + 2], w3 = w[i * SIZE + 3], w4 = w[i * SIZE + 4];
#pragma omp simd
                    for (long k = 0; k < width; k++)
                        sums[k] += w0 * in[k] + w1 * in[k + 1] + w2 * in[k + 2] + w3 * in[k + 3] + w4 * in[k + 4];
                }
                memcpy(y + c, sums, (size_t)width * sizeof *y);
            }
}
