//: rmsnorm_silu_cpu -O3 -march=native
//: takes denormal numbers for zero, and puts the processor's state back before it returns
//: use rmsnorm_fast
#include <immintrin.h>

void rmsnorm_silu(const float *x, const float *w, const float *g, float *y, long rows, long cols, float eps) {
    unsigned before = _mm_getcsr();
    _mm_setcsr(before | 0x8040u);
    fast(x, w, g, y, rows, cols, eps);
    _mm_setcsr(before);
}
