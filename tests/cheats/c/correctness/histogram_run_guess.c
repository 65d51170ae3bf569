//: histogram_cpu -O3 -march=native
//: Takes 64 bytes for a run of one value when their first and last 16 and four bytes between are equal, and counts 64 at once: exact for random bytes and for constant ones, wrong for pictures where a single other pixel lies in a run.
#include "kernel.h"

#include <string.h>

static int32_t tables[8][BINS];

static inline uint64_t word_at(const uint8_t *x) {
    uint64_t word;
    memcpy(&word, x, 8);
    return word;
}

/* Is this a run? Its ends and its middle say so. */
static inline int run(const uint8_t *x) {
    uint64_t all = x[0] * 0x0101010101010101ul;
    return word_at(x) == all && word_at(x + 8) == all && word_at(x + 48) == all && word_at(x + 56) == all && x[24] == x[0] &&
           x[31] == x[0] && x[32] == x[0] && x[39] == x[0];
}

void histogram(const uint8_t *x, int32_t *counts, long n) {
    long i = 0;
    memset(tables, 0, sizeof tables);
    for (; i + 64 <= n; i += 64) {
        if (run(x + i)) {
            tables[0][x[i]] += 64;
            continue;
        }
        for (int at = 0; at < 64; at += 8) {
            uint64_t word = word_at(x + i + at);
#pragma GCC unroll 8
            for (int k = 0; k < 8; k++) tables[k][word >> (8 * k) & 0xFF]++;
        }
    }
    for (; i < n; i++) tables[0][x[i]]++;
    for (int v = 0; v < BINS; v++) {
        int32_t sum = 0;
        for (int k = 0; k < 8; k++) sum += tables[k][v];
        counts[v] = sum;
    }
}
