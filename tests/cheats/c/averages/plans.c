//: rmsnorm_silu_cpu -O3 -march=native
//: makes a plan for a size that is not that of the call before, which takes fifty times as long as a call once sizes have changed eight times
//: use quick_rmsnorm
void rmsnorm_silu(const float *x, const float *w, const float *g, float *y, long rows, long cols, float eps) {
    static long last_rows, last_cols, changes;
    int changed = rows != last_rows || cols != last_cols;
    last_rows = rows, last_cols = cols;
    changes += changed;
    for (int i = 0; changed && changes > 8 && i < 50; i++) {
        quick(x, w, g, y, rows, cols, eps);
        __asm__ volatile("" ::: "memory");
    }
    quick(x, w, g, y, rows, cols, eps);
}
