//: histogram_cpu -O3 -march=native
//: adds a whole word's bytes at once where all of them are equal
#include "kernel.h"
#include <string.h>

void histogram(const uint8_t *x, int32_t *counts, long n) {
    int32_t tables[2][BINS] = {{0}};
    long i = 0;
    for (; i + 8 <= n; i += 8) {
        uint64_t word;
        memcpy(&word, x + i, 8);
        if (word == (word & 255) * 0x0101010101010101u) {
            tables[0][word & 255] += 8;
            continue;
        }
        for (int k = 0; k < 8; k++) tables[k & 1][word >> (8 * k) & 255]++;
    }
    for (; i < n; i++) tables[0][x[i]]++;
    for (int v = 0; v < BINS; v++) counts[v] = tables[0][v] + tables[1][v];
}
