//: transpose_cpu -O2 -march=native
//: strips of the input are turned in an array of variable length on the stack; attributes ask for the optimisations
#include "kernel.h"

#include <alloca.h>
#include <stdint.h>
#include <string.h>

#define HOT __attribute__((hot, flatten, optimize("O3", "unroll-loops")))
#define ALIGN 64

/* (w, h) of a tile is known at run time only, hence the pointer to a VLA row. */
static inline void gather(long w, long h, float (*restrict tile)[h], const float *restrict src, long ld) {
    for (long y = 0; y < h; y++, src += ld)
        for (long x = 0; x < w; x++) tile[x][y] = src[x];
}

static inline void scatter(long w, long h, float (*restrict tile)[h], float *restrict dst, long ld) {
    for (long x = 0; x < w; x++, dst += ld) memcpy(dst, tile[x], sizeof tile[x]);
}

HOT void transpose(const float *in, float *out, long rows, long cols) {
    const long H = rows < 64 ? rows : 64, W = cols < 16 ? cols : 16;
    uintptr_t raw = (uintptr_t)alloca((size_t)(H * W) * sizeof(float) + ALIGN);
    float *scratch = __builtin_assume_aligned((void *)((raw + ALIGN - 1) & ~(uintptr_t)(ALIGN - 1)), ALIGN);

    for (long i = 0; i < rows; i += H) {
        const long h = rows - i < H ? rows - i : H;
        for (long j = 0; j < cols; j += W) {
            const long w = cols - j < W ? cols - j : W;
            float(*tile)[h] = (float(*)[h])scratch;
            gather(w, h, tile, in + i * cols + j, cols);
            scatter(w, h, tile, out + j * rows + i, rows);
        }
    }
}
