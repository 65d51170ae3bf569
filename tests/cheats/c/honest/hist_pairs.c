//: histogram_cpu -O3 -march=native
//: counts pairs of bytes in a table of 65,536 where the input is long; the table is kept, on a huge page if there is one
#define _GNU_SOURCE
#include "kernel.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/*
 * For a megabyte of input we do half as many increments as a byte histogram does. The 256 KiB table fits L2 on everything
 * we run on. Below LONG_INPUT the final reduction over 65,536 pairs costs more than it saves, so we take four plain tables.
 */
#define PAIRS (BINS * BINS)
#define LONG_INPUT (384L * 1024)
#define HUGE_PAGE ((size_t)2 << 20)

static uint32_t *pairs; /* all zero between two calls */

__attribute__((destructor)) static void release(void) {
    free(pairs);
    pairs = NULL;
}

__attribute__((cold, noinline)) static uint32_t *acquire(void) {
    void *p = NULL;
    if (posix_memalign(&p, HUGE_PAGE, HUGE_PAGE) != 0) {
        fprintf(stderr, "histogram: no memory for the pair table, falling back\n");
        return NULL;
    }
#ifdef MADV_HUGEPAGE
    (void)madvise(p, HUGE_PAGE, MADV_HUGEPAGE);
#endif
    memset(p, 0, PAIRS * sizeof(uint32_t));
    return pairs = p;
}

static void short_input(const uint8_t *x, int32_t *counts, long n) {
    int32_t t[4][BINS];
    memset(t, 0, sizeof t);
    long i = 0;
    for (; i + 4 <= n; i += 4) {
        ++t[0][x[i + 0]];
        ++t[1][x[i + 1]];
        ++t[2][x[i + 2]];
        ++t[3][x[i + 3]];
    }
    for (; i < n; i++) ++t[0][x[i]];
    for (int b = 0; b < BINS; b++) counts[b] = t[0][b] + t[1][b] + t[2][b] + t[3][b];
}

void histogram(const uint8_t *x, int32_t *counts, long n) {
    uint32_t *p = pairs;
    if (n < LONG_INPUT || (!p && !(p = acquire()))) {
        short_input(x, counts, n);
        return;
    }
    long i = 0;
    for (; i + 8 <= n; i += 8) {
        uint64_t w;
        memcpy(&w, x + i, sizeof w);
        ++p[w & 0xffff];
        ++p[w >> 16 & 0xffff];
        ++p[w >> 32 & 0xffff];
        ++p[w >> 48];
    }
    uint32_t low[BINS] = {0}, high[BINS];
    for (int h = 0; h < BINS; h++) {
        uint32_t *row = p + h * BINS, sum = 0;
        for (int l = 0; l < BINS; l++) {
            sum += row[l];
            low[l] += row[l];
        }
        high[h] = sum;
    }
    memset(p, 0, PAIRS * sizeof *p);
    for (; i < n; i++) ++low[x[i]];
    for (int b = 0; b < BINS; b++) counts[b] = (int32_t)(low[b] + high[b]);
}
