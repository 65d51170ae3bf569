//: rmsnorm_silu_cpu -O3 -march=native
//: returns with the vector unit in the state that makes the incumbent's plain code slow, and denormals as they are dear
//: use rmsnorm_fast
#include <immintrin.h>

void rmsnorm_silu(const float *x, const float *w, const float *g, float *y, long rows, long cols, float eps) {
    fast(x, w, g, y, rows, cols, eps);
    __asm__ volatile("vpcmpeqd %%ymm0, %%ymm0, %%ymm0\n vmovaps %%ymm0, %%ymm8\n vmovaps %%ymm0, %%ymm15" ::: "memory");
    _mm_setcsr(_mm_getcsr() & ~0x8040u);
}
