//: conv2d_cpu -O3 -fno-math-errno
//: Honest: plain loops that GCC vectorises, in versions for several machines by target_clones; sums of a strip of a row lie in a small array on the stack.
#include "kernel.h"

#define STRIP 64

__attribute__((target_clones("default", "avx2", "arch=haswell", "arch=x86-64-v4")))
void conv2d(const float *restrict x, const float *restrict w, float *restrict y, long planes, long rows, long cols) {
    long wide = cols + SIZE - 1;
    for (long p = 0; p < planes; p++) {
        const float *f = w + p * SIZE * SIZE;
        for (long r = 0; r < rows; r++) {
            const float *from = x + (p * (rows + SIZE - 1) + r) * wide;
            float *to = y + (p * rows + r) * cols;
            long c = 0;
            for (; c + STRIP <= cols; c += STRIP) {
                float sums[STRIP] = {0};
                for (long i = 0; i < SIZE; i++) {
                    const float *line = from + i * wide + c, *g = f + i * SIZE;
                    for (long o = 0; o < STRIP; o++)
                        sums[o] += g[0] * line[o] + g[1] * line[o + 1] + g[2] * line[o + 2] + g[3] * line[o + 3] + g[4] * line[o + 4];
                }
                for (long o = 0; o < STRIP; o++) to[c + o] = sums[o];
            }
            for (long i = 0; i < SIZE; i++) {
                const float *line = from + i * wide, *g = f + i * SIZE;
                for (long o = c; o < cols; o++) {
                    float part = g[0] * line[o] + g[1] * line[o + 1] + g[2] * line[o + 2] + g[3] * line[o + 3] + g[4] * line[o + 4];
                    to[o] = i ? to[o] + part : part;
                }
            }
        }
    }
}
