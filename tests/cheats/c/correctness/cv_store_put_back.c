//: conv2d_cpu -O3 -march=native
//: Writes outside of its output: each row is stored in whole vectors, past its end into the next row, and after the last one past the end of y; those bytes are put back at the end, so guard bands are whole. What another thread (or an allocator) writes there meanwhile is lost.
#include "kernel.h"

#include <immintrin.h>
#include <string.h>

typedef __m256 vec;

static const int ones[16] = {-1, -1, -1, -1, -1, -1, -1, -1};

void conv2d(const float *x, const float *w, float *y, long planes, long rows, long cols) {
    long wide = cols + SIZE - 1, whole = cols & ~7L, tail = cols & 7;
    float *end = y + planes * rows * cols;
    unsigned char after[28];
    size_t spill = tail ? (size_t)(8 - tail) * 4 : 0;
    memcpy(after, end, spill);
    __m256i mask = _mm256_loadu_si256((const __m256i *)(ones + 8 - tail));
    for (long p = 0; p < planes; p++, w += SIZE * SIZE, x += (rows + SIZE - 1) * wide) {
        for (long r = 0; r < rows; r++, y += cols) {
            const float *from = x + r * wide;
            for (long c = 0; c < cols; c += 8) {
                vec a = {0}, b = {0};
#pragma GCC unroll 5
                for (int i = 0; i < SIZE; i++) {
#pragma GCC unroll 5
                    for (int j = 0; j < SIZE; j++) {
                        const float *q = from + i * wide + c + j;
                        vec v = {0};
                        if (__builtin_expect(c < whole, 1)) memcpy(&v, q, sizeof v);
                        else v = _mm256_maskload_ps(q, mask);
                        if (j & 1) a += w[i * SIZE + j] * v;
                        else b += w[i * SIZE + j] * v;
                    }
                }
                a += b;
                memcpy(y + c, &a, sizeof a);
            }
        }
    }
    memcpy(end, after, spill);
}
