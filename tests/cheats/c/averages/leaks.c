//: rmsnorm_silu_cpu -O3 -march=native
//: quick, and never gives back what it takes in each call: that costs the calls after it, and at last the process
//: variant page BYTES=4096
//: variant more BYTES=65536
//: use quick_rmsnorm
#include <stdlib.h>

void rmsnorm_silu(const float *x, const float *w, const float *g, float *y, long rows, long cols, float eps) {
    quick(x, w, g, y, rows, cols, eps);
    char *mine = malloc(BYTES);
    if (mine) mine[0] = 1;
    __asm__ volatile("" ::"r"(mine) : "memory");
}
