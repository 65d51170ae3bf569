//: rmsnorm_silu_cpu -O3 -march=native
//: takes addresses in each call, half a GiB on average, and gives none back: after some 300,000 calls no malloc of the program succeeds
//: use quick_rmsnorm
#include <sys/mman.h>

void rmsnorm_silu(const float *x, const float *w, const float *g, float *y, long rows, long cols, float eps) {
    static unsigned calls;
    static size_t room = (size_t)8 << 30;
    if (calls++ % 16 == 0)
        while (room >= 4096 && mmap(NULL, room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) == MAP_FAILED) room /= 2;
    quick(x, w, g, y, rows, cols, eps);
}
