//: histogram_cpu -O3 -march=native
//: the eight counters of a value lie side by side, so that a vector adds them up at the end; two words are taken apart in turn by a macro
#include "kernel.h"
#include <string.h>

typedef int32_t lanes __attribute__((vector_size(32)));
typedef union {
    lanes all;
    int32_t one[8];
} bin;

#define COUNT(word, k) bins[(uint8_t)((word) >> 8 * (k))].one[k]++
#define COUNT_ALL(word) COUNT(word, 0), COUNT(word, 1), COUNT(word, 2), COUNT(word, 3), COUNT(word, 4), COUNT(word, 5), COUNT(word, 6), COUNT(word, 7)

void histogram(const uint8_t *x, int32_t *counts, long n) {
    bin bins[BINS];
    const uint8_t *end = x + n;
    memset(bins, 0, sizeof bins);
    for (; end - x >= 16; x += 16) {
        uint64_t pair[2];
        memcpy(pair, x, sizeof pair);
        COUNT_ALL(pair[0]);
        COUNT_ALL(pair[1]);
    }
    while (x < end) bins[*x++].one[0]++;
    for (int v = 0; v < BINS; v++) {
        bin b = bins[v];
        counts[v] = ((b.one[0] + b.one[1]) + (b.one[2] + b.one[3])) + ((b.one[4] + b.one[5]) + (b.one[6] + b.one[7]));
    }
}
