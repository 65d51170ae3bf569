//: transpose_cpu -O3 -march=native -funroll-loops
//: two columns at a time, by macros
#include "kernel.h"
#define EACH4(M) M(0) M(1) M(2) M(3)
#define MOVE(k) out[(j + k) * rows + i] = in[i * cols + j + k];
#define DO(what) do { what } while (0)

void transpose(const float *in, float *out, long rows, long cols) {
    long j = 0;
    for (; j + 4 <= cols; j += 4)
        for (long i = 0; i < rows; i++) DO(EACH4(MOVE));
    for (; j < cols; j++)
        for (long i = 0; i < rows; i++) MOVE(0)
}
