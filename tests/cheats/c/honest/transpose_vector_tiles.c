//: transpose_cpu -O3 -march=native
//: Tiles of 64 by 64, squares of 4 by 4 by the shuffles of the vector extensions, and for matrices that no cache holds a prefetch of the next rows.
#include "kernel.h"

#include <stddef.h>
#include <string.h>

#define TILE 64
#define MIN(a, b) _Generic((a), long: (a) < (b) ? (a) : (b))

typedef float v4 __attribute__((vector_size(16)));
typedef int i4 __attribute__((vector_size(16)));

static inline v4 get(const float *p) { v4 v; memcpy(&v, p, sizeof v); return v; }
static inline void put(float *p, v4 v) { memcpy(p, &v, sizeof v); }

static inline void four(const float *restrict in, float *restrict out, ptrdiff_t rows, ptrdiff_t cols) {
    v4 a = get(in), b = get(in + cols), c = get(in + 2 * cols), d = get(in + 3 * cols);
    v4 ab = __builtin_shuffle(a, b, (i4){0, 4, 1, 5}), cd = __builtin_shuffle(c, d, (i4){0, 4, 1, 5});
    v4 AB = __builtin_shuffle(a, b, (i4){2, 6, 3, 7}), CD = __builtin_shuffle(c, d, (i4){2, 6, 3, 7});
    put(out, __builtin_shuffle(ab, cd, (i4){0, 1, 4, 5}));
    put(out + rows, __builtin_shuffle(ab, cd, (i4){2, 3, 6, 7}));
    put(out + 2 * rows, __builtin_shuffle(AB, CD, (i4){0, 1, 4, 5}));
    put(out + 3 * rows, __builtin_shuffle(AB, CD, (i4){2, 3, 6, 7}));
}

void transpose(const float *in, float *out, long rows, long cols) {
    int far = rows * cols > 1L << 20;
    for (long jj = 0; jj < cols; jj += TILE)
        for (long ii = 0; ii < rows; ii += TILE) {
            long i_end = MIN(ii + TILE, rows), j_end = MIN(jj + TILE, cols), j = jj;
            for (; j + 4 <= j_end; j += 4) {
                long i = ii;
                for (; i + 4 <= i_end; i += 4) {
                    if (far && i + TILE + 4 <= rows) __builtin_prefetch(in + (i + TILE) * cols + j);
                    four(in + i * cols + j, out + j * rows + i, rows, cols);
                }
                for (; i < i_end; i++)
                    for (int k = 0; k < 4; k++) out[(j + k) * rows + i] = in[i * cols + j + k];
            }
            for (; j < j_end; j++)
                for (long i = ii; i < i_end; i++) out[j * rows + i] = in[i * cols + j];
        }
}
