//: transpose_cpu -O3 -march=native
//: turns blocks in memory of its own, of one kind or another
//: variant static_array KEPT=static
//: variant stack KEPT=
//: variant thread KEPT=static_THREAD
#include "kernel.h"
#include <string.h>
#define static_THREAD static __thread

void transpose(const float *in, float *out, long rows, long cols) {
    KEPT float block[32 * 32]; /* a block of 32 * 32 floats */
    for (long i = 0; i < rows; i += 32)
        for (long j = 0; j < cols; j += 32) {
            long tall = rows - i < 32 ? rows - i : 32, wide = cols - j < 32 ? cols - j : 32;
            for (long y = 0; y < tall; y++)
                for (long x = 0; x < wide; x++) block[x * 32 + y] = in[(i + y) * cols + j + x];
            for (long x = 0; x < wide; x++) memcpy(out + (j + x) * rows + i, block + x * 32, (size_t)tall * 4);
        }
}
