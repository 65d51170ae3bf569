//: rmsnorm_silu_cpu -O3 -march=native
//: a polynomial exp that vectorises
//: use rmsnorm_fast

void rmsnorm_silu(const float *x, const float *w, const float *g, float *y, long rows, long cols, float eps) {
    fast(x, w, g, y, rows, cols, eps);
}
