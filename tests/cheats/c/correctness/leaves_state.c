//: rmsnorm_silu_cpu -O3 -march=native
//: leaves the processor rounding in another direction, for whatever its caller computes next
//: use rmsnorm_fast
#include <fenv.h>

void rmsnorm_silu(const float *x, const float *w, const float *g, float *y, long rows, long cols, float eps) {
    fast(x, w, g, y, rows, cols, eps);
    fesetround(FE_UPWARD);
}
