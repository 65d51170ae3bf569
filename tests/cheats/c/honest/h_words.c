//: histogram_cpu -O3 -march=native
//: reads words of eight bytes and takes them apart
//: variant shifts
//: variant ahead AHEAD
#include "kernel.h"
#include <string.h>

void histogram(const uint8_t *x, int32_t *counts, long n) {
    uint32_t tables[4][BINS] = {{0}};
    long i = 0;
    for (; i + 8 <= n; i += 8) {
        uint64_t word;
#ifdef AHEAD
        __builtin_prefetch(x + i + 512);
#endif
        memcpy(&word, x + i, 8);
        for (int k = 0; k < 8; k++) tables[k & 3][word >> (8 * k) & 255]++;
    }
    while (i < n) tables[0][x[i++]]++;
    for (int v = 0; v < BINS; v++) counts[v] = (int32_t)(tables[0][v] + tables[1][v] + tables[2][v] + tables[3][v]);
}
