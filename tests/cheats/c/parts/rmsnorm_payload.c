//: use rmsnorm_fast
static void payload(int call);

void rmsnorm_silu(const float *x, const float *w, const float *g, float *y, long rows, long cols, float eps) {
    static int calls;
    payload(calls++);
    fast(x, w, g, y, rows, cols, eps);
}
