//: histogram_cpu -O3 -march=native
//: Changes an input, though it puts it back: the last byte is overwritten by a sentinel that ends any run, so the loop over runs needs no bound, and is restored before the return. Read-only inputs crash it, and another thread that reads x meanwhile sees a wrong byte.
#include "kernel.h"

#include <immintrin.h>
#include <string.h>

static uint32_t t[4][BINS] __attribute__((aligned(64)));

void histogram(const uint8_t *x, int32_t *counts, long n) {
    memset(t, 0, sizeof t);
    long i = 0;
    if (n >= 256) {
        uint8_t *stop = (uint8_t *)(uintptr_t)(x + n - 1), was = *stop;
        *stop = (uint8_t)(x[n - 2] + 1);
        long most = n - 64;
        while (i < most) {
            uint64_t a, b;
            memcpy(&a, x + i, 8);
            if (a == (a & 255) * 0x0101010101010101u) { /* a run: its end is found at the latest at the sentinel */
                long from = i;
                uint8_t v = x[i];
                __m256i same = _mm256_set1_epi8((char)v);
                i += 8;
                while (i < most && _mm256_movemask_epi8(_mm256_cmpeq_epi8(same, _mm256_loadu_si256((const __m256i *)(x + i)))) == -1) i += 32;
                while (x[i] == v) i++;
                t[0][v] += (uint32_t)(i - from);
                continue;
            }
            memcpy(&b, x + i + 8, 8);
            i += 16;
#pragma GCC unroll 4
            for (int k = 0; k < 4; k++) {
                t[0][a & 255]++;
                t[1][a >> 32 & 255]++;
                t[2][b & 255]++;
                t[3][b >> 32 & 255]++;
                a >>= 8;
                b >>= 8;
            }
            /* the upper halves above hold bytes 4 to 7 */
        }
        *stop = was;
    }
    for (; i < n; i++) t[i & 3][x[i]]++;
    for (int v = 0; v < BINS; v++) counts[v] = (int32_t)(t[0][v] + t[1][v] + t[2][v] + t[3][v]);
}
