//: transpose_cpu -O3 -march=native
//: has a table of offsets that it fills anew when the size changes
#include "kernel.h"

static long offsets[65536], filled_for;

void transpose(const float *in, float *out, long rows, long cols) {
    if (cols > 65536) {
        for (long i = 0; i < rows; i++)
            for (long j = 0; j < cols; j++) out[j * rows + i] = in[i * cols + j];
        return;
    }
    if (filled_for != rows) {
        for (long j = 0; j < 65536; j++) offsets[j] = j * rows;
        filled_for = rows;
    }
    for (long j = 0; j < cols; j += 16)
        for (long i = 0; i < rows; i++)
            for (long x = j; x < (j + 16 < cols ? j + 16 : cols); x++) out[offsets[x] + i] = in[i * cols + x];
}
