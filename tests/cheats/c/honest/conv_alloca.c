//: conv2d_cpu -O2 -march=native
//: an accumulator of one strip on the stack (alloca, aligned by hand), all taps unrolled from a compound literal
#include "kernel.h"

#include <alloca.h>
#include <stdint.h>
#include <string.h>

#define STRIP 1024L
#define ALIGNED(p) __builtin_assume_aligned((void *)(((uintptr_t)(p) + 63) & ~(uintptr_t)63), 64)

struct filter_row {
    float t0, t1, t2, t3, t4;
};

__attribute__((optimize("O3", "tree-vectorize"), noinline, hot)) static void
add_row(float *restrict acc, const float *restrict x, const struct filter_row *f, long n, _Bool first) {
    acc = __builtin_assume_aligned(acc, 64);
    const struct filter_row t = *f;
    if (first)
        for (long c = 0; c < n; c++) acc[c] = t.t0 * x[c] + t.t1 * x[c + 1] + t.t2 * x[c + 2] + t.t3 * x[c + 3] + t.t4 * x[c + 4];
    else
        for (long c = 0; c < n; c++) acc[c] += t.t0 * x[c] + t.t1 * x[c + 1] + t.t2 * x[c + 2] + t.t3 * x[c + 3] + t.t4 * x[c + 4];
}

void conv2d(const float *x, const float *w, float *y, long planes, long rows, long cols) {
    _Static_assert(SIZE == 5, "a filter_row has five taps");
    const long strip = cols < STRIP ? cols : STRIP, pitch = cols + SIZE - 1;
    float *acc = ALIGNED(alloca((size_t)strip * sizeof *acc + 64));

    for (long p = 0; p < planes; p++) {
        const float *const fw = w + p * SIZE * SIZE, *const plane = x + p * (rows + SIZE - 1) * pitch;
        const struct filter_row *const f = (const struct filter_row[SIZE]){
            {fw[0], fw[1], fw[2], fw[3], fw[4]},      {fw[5], fw[6], fw[7], fw[8], fw[9]},
            {fw[10], fw[11], fw[12], fw[13], fw[14]}, {fw[15], fw[16], fw[17], fw[18], fw[19]},
            {fw[20], fw[21], fw[22], fw[23], fw[24]},
        };
        for (long r = 0; r < rows; r++)
            for (long from = 0; from < cols; from += strip) {
                const long n = cols - from < strip ? cols - from : strip;
                for (long i = 0; i < SIZE; i++) add_row(acc, plane + (r + i) * pitch + from, f + i, n, i == 0);
                memcpy(y + (p * rows + r) * cols + from, acc, (size_t)n * sizeof *y);
            }
    }
}
