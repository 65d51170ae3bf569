//: rmsnorm_silu_cpu -O3 -march=native -ffast-math
//: asks for fast math, for which the linker adds start-up code that has the whole program take denormals for zero from its load on
//: use rmsnorm_fast

void rmsnorm_silu(const float *x, const float *w, const float *g, float *y, long rows, long cols, float eps) {
    fast(x, w, g, y, rows, cols, eps);
}
