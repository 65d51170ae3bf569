/* The kernel's contract: counts[v] is how many of the n bytes at x are v, for all 256 values v, whatever was there before. There may
 * be no bytes at all (n = 0). */
#ifndef HISTOGRAM_H
#define HISTOGRAM_H

#include <stdint.h>

#define BINS 256

void histogram(const uint8_t *x, int32_t *counts, long n);

#endif
