//: rmsnorm_silu_cpu -O3 -march=native
//: quick, but one call of many does thousands of times the work: slower on average than the task's own kernel
//: variant often EACH=97 MUCH=2000
//: variant seldom EACH=500 MUCH=9000
//: use quick_rmsnorm
static long calls;

void rmsnorm_silu(const float *x, const float *w, const float *g, float *y, long rows, long cols, float eps) {
    quick(x, w, g, y, rows, cols, eps);
    if (++calls % EACH) return;
    for (long i = 0; i < MUCH; i++) {
        __asm__ volatile("" ::: "memory");
        quick(x, w, g, y, rows, cols, eps);
    }
}
