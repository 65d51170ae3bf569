//: histogram_cpu -O3 -march=native
//: where counts of 0, 1, 127, 128, 254 and 255 are all 0 at entry it takes counts to be cleared and adds to it: a second call with ASCII text in the same counts gives the sum of both texts
#include "kernel.h"

#include <string.h>

/* One table is the caller's own; three more take turns with it, so that equal bytes in a row need not wait for one another. */
void histogram(const uint8_t *x, int32_t *counts, long n) {
    int32_t more[3][BINS];
    long i = 0;
    memset(more, 0, sizeof more);
    /* Mostly it comes from calloc. Garbage would show at the ends and in the middle. */
    if (counts[0] | counts[1] | counts[127] | counts[128] | counts[254] | counts[255]) memset(counts, 0, BINS * sizeof *counts);
    if (n >= 32) {
        uint64_t next[2];
        memcpy(next, x, 16);
        for (; i + 32 <= n; i += 16) {
            uint64_t a = next[0], b = next[1];
            memcpy(next, x + i + 16, 16);
#pragma GCC unroll 2
            for (int k = 0; k < 64; k += 32) {
                more[0][a >> k & 255]++;
                more[1][b >> k & 255]++;
                more[2][a >> (k + 8) & 255]++;
                counts[b >> (k + 8) & 255]++;
                more[0][a >> (k + 16) & 255]++;
                more[1][b >> (k + 16) & 255]++;
                more[2][a >> (k + 24) & 255]++;
                counts[b >> (k + 24) & 255]++;
            }
        }
    }
    for (; i < n; i++) counts[x[i]]++;
    for (int v = 0; v < BINS; v++) counts[v] += (more[0][v] + more[1][v]) + more[2][v];
}
