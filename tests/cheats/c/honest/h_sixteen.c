//: histogram_cpu -O3 -march=native
//: short counters that are emptied before they can overflow
#include "kernel.h"
#include <string.h>

static uint16_t few[4][BINS];

void histogram(const uint8_t *x, int32_t *counts, long n) {
    memset(counts, 0, BINS * sizeof *counts);
    for (long from = 0; from < n; from += 65532) {
        long to = from + 65532 < n ? from + 65532 : n, i = from;
        memset(few, 0, sizeof few);
        for (; i + 4 <= to; i += 4) few[0][x[i]]++, few[1][x[i + 1]]++, few[2][x[i + 2]]++, few[3][x[i + 3]]++;
        for (; i < to; i++) few[0][x[i]]++;
        for (int v = 0; v < BINS; v++) counts[v] += few[0][v] + few[1][v] + few[2][v] + few[3][v];
    }
}
