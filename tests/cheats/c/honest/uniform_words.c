//: histogram_cpu -O2 -fno-strict-aliasing -funroll-loops
//: Honest: eight tables of 32 bits on the stack, so that it keeps nothing and threads may call it at once; words of eight equal bytes are counted in one go. Reads through a cast to uint64_t (with the flag for it) at any alignment; it might be refused for the branch on data.
#include "kernel.h"

#include <string.h>

typedef uint64_t loose __attribute__((aligned(1), may_alias));

void histogram(const uint8_t *x, int32_t *counts, long n) {
    int32_t t[8][BINS];
    const uint8_t *end = x + n;
    memset(t, 0, sizeof t);
    for (; end - x >= 16; x += 16) {
        uint64_t a = ((const loose *)x)[0], b = ((const loose *)x)[1];
        if (a == b && a == (a & 0xFF) * 0x0101010101010101u) {
            t[0][a & 0xFF] += 16;
            continue;
        }
        t[0][a & 0xFF]++, t[1][a >> 8 & 0xFF]++, t[2][a >> 16 & 0xFF]++, t[3][a >> 24 & 0xFF]++;
        t[4][a >> 32 & 0xFF]++, t[5][a >> 40 & 0xFF]++, t[6][a >> 48 & 0xFF]++, t[7][a >> 56]++;
        t[0][b & 0xFF]++, t[1][b >> 8 & 0xFF]++, t[2][b >> 16 & 0xFF]++, t[3][b >> 24 & 0xFF]++;
        t[4][b >> 32 & 0xFF]++, t[5][b >> 40 & 0xFF]++, t[6][b >> 48 & 0xFF]++, t[7][b >> 56]++;
    }
    while (x < end) t[0][*x++]++;
    for (int v = 0; v < BINS; v++)
        counts[v] = t[0][v] + t[1][v] + t[2][v] + t[3][v] + (t[4][v] + t[5][v] + t[6][v] + t[7][v]);
}
