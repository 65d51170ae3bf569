//: histogram_cpu -O3 -march=native
//: a small state machine with goto: words of eight bytes that equal the one before are only counted and entered once with their number, others go to eight tables of which each has one place in the word
#include "kernel.h"

#include <string.h>

void histogram(const uint8_t *x, int32_t *counts, long n) {
    uint32_t t[8][BINS];
    const uint8_t *end = x + n, *words = x + (n & ~7L);
    uint64_t now, next;
    memset(t, 0, sizeof t);
    if (x == words) goto rest;
    memcpy(&now, x, 8);

fresh:
    x += 8;
    if (x == words) {
#pragma GCC unroll 8
        for (int k = 0; k < 8; k++) t[k][now >> (8 * k) & 0xFF]++;
        goto rest;
    }
    memcpy(&next, x, 8);
    if (__builtin_expect(next == now, 0)) goto run;
#pragma GCC unroll 8
    for (int k = 0; k < 8; k++) t[k][now >> (8 * k) & 0xFF]++;
    now = next;
    goto fresh;

run: {
    uint64_t times = 1;
    while (x != words && (memcpy(&next, x, 8), next == now)) x += 8, times++;
    for (int k = 0; k < 8; k++) t[k][now >> (8 * k) & 0xFF] += (uint32_t)times;
    now = next;
    if (x != words) goto fresh;
}

rest:
    while (words != end) t[0][*words++]++;
    for (int b = 0; b < BINS; b++) {
        uint32_t s = 0;
        for (int k = 0; k < 8; k++) s += t[k][b];
        counts[b] = (int32_t)s;
    }
}
