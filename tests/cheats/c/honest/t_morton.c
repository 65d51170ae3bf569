//: transpose_cpu -O3 -march=native
//: squares of eight by eight along Morton's curve, whose numbers are taken apart bit by bit; local structs are passed by value
#include "kernel.h"

enum { SIDE = 8 };

typedef struct {
    unsigned long row, col;
} place;

static inline unsigned long even_bits(unsigned long v) {
    v &= 0x5555555555555555;
    v = (v | v >> 1) & 0x3333333333333333;
    v = (v | v >> 2) & 0x0f0f0f0f0f0f0f0f;
    v = (v | v >> 4) & 0x00ff00ff00ff00ff;
    v = (v | v >> 8) & 0x0000ffff0000ffff;
    return (v | v >> 16) & 0xffffffff;
}

static inline place at(unsigned long number) { return (place){even_bits(number >> 1), even_bits(number)}; }

static inline void whole(const float *restrict in, float *restrict out, long rows, long cols) {
    for (long x = 0; x < SIDE; x++)
        for (long y = 0; y < SIDE; y++) out[x * rows + y] = in[y * cols + x];
}

static void part(const float *restrict in, float *restrict out, long rows, long cols, long tall, long wide) {
    for (long x = 0; x < wide; x++)
        for (long y = 0; y < tall; y++) out[x * rows + y] = in[y * cols + x];
}

/* The curve covers `side` × `side` squares, a power of two; the longer way there are several of these. */
static void curve(const float *in, float *out, long rows, long cols, long i0, long j0, unsigned long side) {
    for (unsigned long number = 0; number < side * side; number++) {
        place p = at(number);
        long i = i0 + (long)p.row * SIDE, j = j0 + (long)p.col * SIDE;
        if (i >= rows || j >= cols) continue;
        long tall = rows - i < SIDE ? rows - i : SIDE, wide = cols - j < SIDE ? cols - j : SIDE;
        if (tall == SIDE && wide == SIDE) whole(in + i * cols + j, out + j * rows + i, rows, cols);
        else part(in + i * cols + j, out + j * rows + i, rows, cols, tall, wide);
    }
}

void transpose(const float *in, float *out, long rows, long cols) {
    unsigned long side = 8; /* 64 × 64 elements */
    long step = (long)side * SIDE;
    for (long i = 0; i < rows; i += step)
        for (long j = 0; j < cols; j += step) curve(in, out, rows, cols, i, j, side);
}
