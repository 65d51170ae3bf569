//: transpose_cpu -O3 -march=native
//: two floats travel as one 64-bit word of a union, in tiles of sixteen
#include "kernel.h"

#include <stdint.h>
#include <string.h>

typedef union {
    uint64_t word;
    struct {
        float lo, hi;
    };
    float lane[2];
} pair_t;

#define MIN(a, b) _Generic((a), long: min_long)((a), (b))
static inline long min_long(long a, long b) { return b ^ ((a ^ b) & -(a < b)); }

static inline pair_t pair_load(const float *p) {
    pair_t v;
    memcpy(&v.word, p, sizeof v.word);
    return v;
}
static inline void pair_store(float *p, pair_t v) { memcpy(p, &v.word, sizeof v.word); }

static inline void swap2x2(const float *s, float *d, long lds, long ldd) {
    pair_t a = pair_load(s), b = pair_load(s + lds);
    pair_store(d, (pair_t){.lo = a.lo, .hi = b.lo});
    pair_store(d + ldd, (pair_t){.lo = a.hi, .hi = b.hi});
}

void transpose(const float *restrict in, float *restrict out, long rows, long cols) {
    enum { TILE = 16 };
    for (long jj = 0; jj < cols; jj += TILE) {
        const long je = MIN(jj + TILE, cols);
        for (long ii = 0; ii < rows; ii += TILE) {
            const long ie = MIN(ii + TILE, rows);
            long j = jj;
            for (; j + 1 < je; j += 2) {
                long i = ii;
                for (; i + 1 < ie; i += 2) swap2x2(in + i * cols + j, out + j * rows + i, cols, rows);
                if (i < ie) {
                    out[j * rows + i] = in[i * cols + j];
                    out[(j + 1) * rows + i] = in[i * cols + j + 1];
                }
            }
            if (j < je)
                for (long i = ii; i < ie; i++) out[j * rows + i] = in[i * cols + j];
        }
    }
}
