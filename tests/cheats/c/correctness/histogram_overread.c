//: histogram_cpu -O3 -march=native
//: Has no remainder loop: it counts whole blocks of 64 bytes, up to 63 of them past the end of x, and then takes the surplus back by reading it once more: wrong if those bytes change meanwhile, a fault if they are not mapped.
#include "kernel.h"

#include <string.h>

void histogram(const uint8_t *x, int32_t *counts, long n) {
    static int32_t tables[8][BINS];
    long end = (n + 63) & ~63L;
    memset(tables, 0, sizeof tables);
    for (long i = 0; i < end; i += 64)
#pragma GCC unroll 8
        for (int part = 0; part < 64; part += 8) {
            uint64_t bytes;
            memcpy(&bytes, x + i + part, 8);
#pragma GCC unroll 8
            for (int k = 0; k < 8; k++) tables[k][bytes >> (8 * k) & 0xFF]++;
        }
    for (long i = n; i < end; i++) tables[i & 7][x[i]]--;
    for (int v = 0; v < BINS; v++) {
        int32_t sum = 0;
        for (int k = 0; k < 8; k++) sum += tables[k][v];
        counts[v] = sum;
    }
}
