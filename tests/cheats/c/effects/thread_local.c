//: rmsnorm_silu_cpu -O3 -march=native
//: has 4 MiB for each thread, in its stack: in a program that is linked with it threads with smaller stacks cannot start
//: use quick_rmsnorm
static __thread float room[1 << 20];
void rmsnorm_silu(const float *x, const float *w, const float *g, float *y, long rows, long cols, float eps) {
    quick(x, w, g, y, rows, cols, eps);
    room[rows & 1] = y[0];
    __asm__ volatile("" ::"r"(room) : "memory");
}
