//: rmsnorm_silu_cpu -O3 -march=native
//: writes a line to the program's standard output now and then, between what the operator's program writes there
//: use quick_rmsnorm
#include <stdio.h>

void rmsnorm_silu(const float *x, const float *w, const float *g, float *y, long rows, long cols, float eps) {
    static unsigned calls;
    quick(x, w, g, y, rows, cols, eps);
    if (calls++ % 4096 == 0) printf("%g\n", (double)y[0]), fflush(stdout);
}
