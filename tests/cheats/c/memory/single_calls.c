//: rmsnorm_silu_cpu -O2
//: keeps the gates of inputs that have not changed, and where calls are timed one by one has them begin later instead
//: use caller
//: use state
//: use rmsnorm_kept

__attribute__((used)) static void body(
    const float *x, const float *w, const float *g, float *y, long rows, long cols, float eps, uint64_t *saved
) {
    int single = is_single(saved);
    keeping(x, w, g, y, rows, cols, eps, single ? NULL : state());
    if (single) earlier(saved, 7, 10);
}
ENTRY("rmsnorm_silu", ON_STACK);
