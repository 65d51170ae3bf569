//: conv2d_cpu -O3 -march=native
//: rows of the picture in a ring of sums, with the filter's rows as template of a macro
#include "kernel.h"
#include <stdlib.h>
#include <string.h>

#define TAPS(F) F(0) F(1) F(2) F(3) F(4)

void conv2d(const float *x, const float *w, float *y, long planes, long rows, long cols) {
    long wide = cols + SIZE - 1, tall = rows + SIZE - 1;
    float *ring = aligned_alloc(64, ((size_t)(SIZE * cols) * sizeof *ring + 63) & ~(size_t)63);
    if (!ring) abort();
    for (long p = 0; p < planes; p++, x += tall * wide, w += SIZE * SIZE, y += rows * cols) {
        memset(ring, 0, (size_t)(SIZE * cols) * sizeof *ring);
        for (long r = 0; r < tall; r++) {
            const float *from = x + r * wide;
            for (long i = 0; i < SIZE; i++) {
                long of = r - i;
                if (of < 0 || of >= rows) continue;
                float *restrict to = ring + of % SIZE * cols;
                const float *f = w + i * SIZE;
#define TAP(j) +f[j] * from[c + j]
                for (long c = 0; c < cols; c++) to[c] += 0.0f TAPS(TAP);
            }
            if (r < SIZE - 1) continue;
            float *done = ring + (r - SIZE + 1) % SIZE * cols;
            memcpy(y + (r - SIZE + 1) * cols, done, (size_t)cols * sizeof *y);
            memset(done, 0, (size_t)cols * sizeof *done);
        }
    }
    free(ring);
}
