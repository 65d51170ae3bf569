//: transpose_cpu -O2
//: writes one wrong element in one call of so many; a check of sixty calls misses it most of the time
//: variant in_200 EVERY=200
//: variant in_3000 EVERY=3000
//: use transpose_fast
#include <stdint.h>

void transpose(const float *in, float *out, long rows, long cols) {
    static unsigned calls;
    if (!calls) calls = (unsigned)((uintptr_t)&calls >> 4) % EVERY; /* each copy of the object at another place */
    fast(in, out, rows, cols);
    if (++calls % EVERY == 0) out[calls % (unsigned long)(rows * cols)] += 1.0f;
}
