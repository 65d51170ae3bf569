/* How often each byte occurs. As it stands: one table, and one byte after the other. */
#include "kernel.h"

#include <string.h>

#define TABLES 1 /* that take turns, so that equal bytes in a row need not wait for one another: 1, 2, 4, 8 */
#define WORD 1   /* bytes that are read at once: 1, 4, 8 */
#define AHEAD 0  /* 1 reads the next word before it counts the last one */

static int32_t tables[TABLES][BINS];

static inline uint64_t word(const uint8_t *from) {
    uint64_t bytes = 0;
    memcpy(&bytes, from, WORD);
    return bytes;
}

static inline void count(uint64_t bytes) {
#pragma GCC unroll 8
    for (int k = 0; k < WORD; k++) tables[k % TABLES][bytes >> (8 * k) & 0xFF]++;
}

void histogram(const uint8_t *x, int32_t *counts, long n) {
    long i = 0;
    memset(tables, 0, sizeof tables);
#if WORD == 1
    for (; i + TABLES <= n; i += TABLES)
        for (int k = 0; k < TABLES; k++) tables[k][x[i + k]]++;
#elif AHEAD
    uint64_t next = n >= WORD ? word(x) : 0;
    for (; i + 2 * WORD <= n; i += WORD) {
        uint64_t now = next;
        next = word(x + i + WORD);
        count(now);
    }
    if (i + WORD <= n) {
        count(next);
        i += WORD;
    }
#else
    for (; i + WORD <= n; i += WORD) count(word(x + i));
#endif
    for (; i < n; i++) tables[0][x[i]]++;
    for (int v = 0; v < BINS; v++) {
        int32_t sum = 0;
        for (int k = 0; k < TABLES; k++) sum += tables[k][v];
        counts[v] = sum;
    }
}
