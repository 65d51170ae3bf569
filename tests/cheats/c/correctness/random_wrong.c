//: transpose_cpu -O2
//: writes one wrong element by chance, as a race that is mostly lucky would
//: use transpose_fast
#include <x86intrin.h>

void transpose(const float *in, float *out, long rows, long cols) {
    fast(in, out, rows, cols);
    unsigned long long z = __rdtsc() * 0x9E3779B97F4A7C15u;
    if (z >> 54 == 0) out[(z >> 20) % (unsigned long long)(rows * cols)] = 0.0f;
}
