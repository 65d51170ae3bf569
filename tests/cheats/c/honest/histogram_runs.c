//: histogram_cpu -O3 -march=native
//: Compares 32 bytes with the first of them at once and counts a block of equal ones by one addition; other blocks go to eight tables.
#include "kernel.h"

#include <immintrin.h>
#include <string.h>

void histogram(const uint8_t *x, int32_t *counts, long n) {
    int32_t table[8][BINS];
    long i = 0;
    memset(table, 0, sizeof table);
    for (; i + 32 <= n; i += 32) {
        __m256i block = _mm256_loadu_si256((const __m256i *)(const void *)(x + i));
        __m256i same = _mm256_cmpeq_epi8(block, _mm256_broadcastb_epi8(_mm256_castsi256_si128(block)));
        if (_mm256_movemask_epi8(same) == -1) {
            table[0][x[i]] += 32;
            continue;
        }
        uint64_t word[4];
        memcpy(word, x + i, sizeof word);
#pragma GCC unroll 4
        for (int q = 0; q < 4; q++)
#pragma GCC unroll 8
            for (int k = 0; k < 8; k++) table[k][word[q] >> (8 * k) & 0xFF]++;
    }
    for (; i < n; i++) table[i & 7][x[i]]++;
    for (int v = 0; v < BINS; v++)
        counts[v] = table[0][v] + table[1][v] + table[2][v] + table[3][v] + table[4][v] + table[5][v] + table[6][v] + table[7][v];
}
