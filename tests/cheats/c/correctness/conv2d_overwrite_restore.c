//: conv2d_cpu -O3 -march=native
//: Has no remainder loop: it reads past the end of x and writes whole vectors past the end of y, having saved what lay there, and puts it back at the end: faults at the end of a mapping and undoes what another thread writes behind y meanwhile.
#include "kernel.h"

#include <string.h>

typedef float v8 __attribute__((vector_size(32)));
static inline v8 get(const float *p) { v8 v; memcpy(&v, p, 32); return v; }

void conv2d(const float *x, const float *w, float *y, long planes, long rows, long cols) {
    long wide = cols + SIZE - 1;
    float *end = y + planes * rows * cols, behind[16];
    memcpy(behind, end, sizeof behind);
    for (long p = 0; p < planes; p++, w += SIZE * SIZE, x += (SIZE - 1) * wide)
        for (long r = 0; r < rows; r++, x += wide, y += cols)
            for (long c = 0; c < cols; c += 16) {
                v8 s[2] = {0};
                for (int i = 0; i < SIZE; i++)
#pragma GCC unroll 5
                    for (int j = 0; j < SIZE; j++) {
                        s[0] += w[i * SIZE + j] * get(x + i * wide + c + j);
                        s[1] += w[i * SIZE + j] * get(x + i * wide + c + j + 8);
                    }
                memcpy(y + c, s, sizeof s);
            }
    memcpy(end, behind, sizeof behind);
}
