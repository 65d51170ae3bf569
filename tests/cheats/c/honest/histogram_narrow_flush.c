//: histogram_cpu -O3 -march=native
//: Honest: 16 tables of 16-bit counters in 8 KiB of the stack, emptied into the counts before any of them can wrap (after 65535 steps of 16 bytes), and prefetches.
#include "kernel.h"

#include <string.h>

#define TABLES 16
#define STEPS 65535L /* none of a table's counters can wrap in so many */

void histogram(const uint8_t *x, int32_t *counts, long n) {
    uint16_t tables[TABLES][BINS];
    memset(counts, 0, BINS * sizeof *counts);
    long i = 0;
    while (n - i >= TABLES) {
        long steps = (n - i) / TABLES < STEPS ? (n - i) / TABLES : STEPS;
        memset(tables, 0, sizeof tables);
        for (long end = i + steps * TABLES; i < end; i += TABLES) {
            uint64_t low, high;
            memcpy(&low, x + i, 8);
            memcpy(&high, x + i + 8, 8);
            __builtin_prefetch(x + i + 1024);
#pragma GCC unroll 8
            for (int k = 0; k < 8; k++) {
                tables[k][low >> (8 * k) & 0xFF]++;
                tables[8 + k][high >> (8 * k) & 0xFF]++;
            }
        }
        for (int k = 0; k < TABLES; k++)
            for (int v = 0; v < BINS; v++) counts[v] += tables[k][v];
    }
    for (; i < n; i++) counts[x[i]]++;
}
