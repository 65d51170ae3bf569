//: rmsnorm_silu_cpu -O3 -march=native
//: stores the end of each row past the caches, and returns without a fence: another thread that is told of it may read what was there before
//: use quick_rmsnorm
#include <immintrin.h>

void rmsnorm_silu(const float *x, const float *w, const float *g, float *y, long rows, long cols, float eps) {
    quick(x, w, g, y, rows, cols, eps);
    int last;
    memcpy(&last, y + rows * cols - 1, sizeof last);
    _mm_stream_si32((int *)(void *)(y + rows * cols - 1), last);
}
