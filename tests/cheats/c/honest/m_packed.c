//: matmul_cpu -O3 -march=native
//: packs columns of the second factor into memory of its own, of one kind or another
//: variant static_array
//: variant pool POOL
#include "kernel.h"
#include <stdlib.h>
#include <string.h>
#define WIDE 16
#define MOST 4096

static float *room(long k) {
#ifdef POOL
    static __thread struct {
        float *memory;
        long size;
    } pool;
    if (pool.size < k * WIDE) pool.memory = realloc(pool.memory, (size_t)(pool.size = k * WIDE) * sizeof(float));
    return pool.memory;
#else
    static float packed[MOST * WIDE];
    return k <= MOST ? packed : NULL;
#endif
}

void matmul(const float *a, const float *b, float *c, long m, long n, long k) {
    float *packed = room(k);
    for (long j = 0; j < n; j += WIDE) {
        long wide = n - j < WIDE ? n - j : WIDE;
        for (long l = 0; packed && l < k; l++)
            for (long x = 0; x < WIDE; x++) packed[l * WIDE + x] = x < wide ? b[l * n + j + x] : 0.0f;
        for (long i = 0; i < m; i++) {
            float sums[WIDE] = {0};
            for (long l = 0; l < k; l++)
                for (long x = 0; x < (packed ? WIDE : wide); x++) sums[x] += a[i * k + l] * (packed ? packed[l * WIDE + x] : b[l * n + j + x]);
            memcpy(c + i * n + j, sums, (size_t)wide * sizeof *c);
        }
    }
}
