//: transpose_cpu -O3 -march=native
//: Gathers sixteen columns at a time into a strip on the stack, in parts of 512 rows, and copies it out row by row, so that no two stores in a row hit the same set of the cache.
#include "kernel.h"

#include <alloca.h>
#include <string.h>

#define WIDTH 16
#define HEIGHT 512L

void transpose(const float *in, float *out, long rows, long cols) {
    long tall = rows < HEIGHT ? rows : HEIGHT, pitch = tall + 17;
    float *strip = alloca((size_t)(WIDTH * pitch) * sizeof *strip);
    for (long i = 0; i < rows; i += tall) {
        long height = rows - i < tall ? rows - i : tall;
        for (long j = 0; j < cols; j += WIDTH) {
            long width = cols - j < WIDTH ? cols - j : WIDTH;
            const float *from = in + i * cols + j;
            if (width == WIDTH)
                for (long y = 0; y < height; y++, from += cols)
#pragma GCC unroll 16
                    for (int x = 0; x < WIDTH; x++) strip[x * pitch + y] = from[x];
            else
                for (long y = 0; y < height; y++, from += cols)
                    for (long x = 0; x < width; x++) strip[x * pitch + y] = from[x];
            for (long x = 0; x < width; x++) memcpy(out + (j + x) * rows + i, strip + x * pitch, (size_t)height * sizeof *out);
        }
    }
}
