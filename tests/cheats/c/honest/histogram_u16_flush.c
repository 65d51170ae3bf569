//: histogram_cpu -O3 -march=native
//: Counts in tables of 16 bits, half as large, that are added to the result before any of them can run over.
#include "kernel.h"

#include <string.h>

#define TABLES 8
#define CHUNK (65535L * TABLES) /* no table gets more bytes than a counter can hold */

static void add(int32_t *restrict counts, uint16_t table[TABLES][BINS]) {
    for (int t = 0; t < TABLES; t++)
        for (int v = 0; v < BINS; v++) counts[v] += table[t][v];
}

void histogram(const uint8_t *x, int32_t *counts, long n) {
    uint16_t table[TABLES][BINS];
    memset(counts, 0, BINS * sizeof *counts);
    for (long from = 0; from < n; from += CHUNK) {
        long to = n - from < CHUNK ? n : from + CHUNK, i = from;
        memset(table, 0, sizeof table);
        for (; i + 8 <= to; i += 8) {
            uint64_t w;
            memcpy(&w, x + i, 8);
            table[0][w & 0xFF]++, table[1][w >> 8 & 0xFF]++, table[2][w >> 16 & 0xFF]++, table[3][w >> 24 & 0xFF]++;
            table[4][w >> 32 & 0xFF]++, table[5][w >> 40 & 0xFF]++, table[6][w >> 48 & 0xFF]++, table[7][w >> 56]++;
        }
        for (int t = 0; i < to; i++, t++) table[t][x[i]]++;
        add(counts, table);
    }
}
