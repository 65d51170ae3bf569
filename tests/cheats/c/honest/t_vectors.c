//: transpose_cpu -O3 -march=native
//: the compiler's own vectors and shuffles
#include "kernel.h"
#include <string.h>

typedef float vec __attribute__((vector_size(16), aligned(4)));
typedef int places __attribute__((vector_size(16)));

static inline vec get(const float *from) {
    vec v;
    memcpy(&v, from, sizeof v);
    return v;
}

void transpose(const float *in, float *out, long rows, long cols) {
    long down = rows / 4 * 4, across = cols / 4 * 4;
    for (long j = 0; j < across; j += 4)
        for (long i = 0; i < down; i += 4) {
            const float *p = in + i * cols + j;
            vec a = get(p), b = get(p + cols), c = get(p + 2 * cols), d = get(p + 3 * cols);
            vec ab = __builtin_shuffle(a, b, (places){0, 4, 1, 5}), cd = __builtin_shuffle(c, d, (places){0, 4, 1, 5});
            vec AB = __builtin_shuffle(a, b, (places){2, 6, 3, 7}), CD = __builtin_shuffle(c, d, (places){2, 6, 3, 7});
            vec rows_of[4] = {__builtin_shuffle(ab, cd, (places){0, 1, 4, 5}), __builtin_shuffle(ab, cd, (places){2, 3, 6, 7}),
                              __builtin_shuffle(AB, CD, (places){0, 1, 4, 5}), __builtin_shuffle(AB, CD, (places){2, 3, 6, 7})};
            for (int k = 0; k < 4; k++) memcpy(out + (j + k) * rows + i, &rows_of[k], 16);
        }
    for (long i = 0; i < rows; i++)
        for (long j = i < down ? across : 0; j < cols; j++) out[j * rows + i] = in[i * cols + j];
}
