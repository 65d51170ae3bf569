//: transpose_cpu -O3 -march=native
//: honest: strips of 16 rows are turned in a scratch tile on the stack in plain C (the compiler makes shuffles or scatters of it), and leave it as whole cache lines; columns in groups of 32
#include "kernel.h"

#include <string.h>

#define HIGH 16
#define WIDE 32

void transpose(const float *restrict in, float *restrict out, long rows, long cols) {
    float tile[WIDE][HIGH] __attribute__((aligned(64)));
    for (long j = 0; j < cols; j += WIDE) {
        long width = cols - j < WIDE ? cols - j : WIDE;
        for (long i = 0; i < rows; i += HIGH) {
            long height = rows - i < HIGH ? rows - i : HIGH;
            const float *from = in + i * cols + j;
            float *to = out + j * rows + i;
            if (height == HIGH && width == WIDE) {
                for (long c = 0; c < WIDE; c++)
                    for (long r = 0; r < HIGH; r++) tile[c][r] = from[r * cols + c];
                for (long c = 0; c < WIDE; c++) memcpy(to + c * rows, tile[c], sizeof tile[c]);
            } else {
                for (long c = 0; c < width; c++)
                    for (long r = 0; r < height; r++) to[c * rows + r] = from[r * cols + c];
            }
        }
    }
}
