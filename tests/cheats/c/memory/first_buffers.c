//: rmsnorm_silu_cpu -O3 -march=native
//: keeps where the buffers of each size lay in its first call; for a caller with two sets of buffers it is wrong, or slow
//: variant wrong SLOW=0
//: variant slow SLOW=1
//: use quick_rmsnorm
#define MOST 64
static struct {
    long rows, cols;
    const float *x;
} first[MOST];
static int count;

void rmsnorm_silu(const float *x, const float *w, const float *g, float *y, long rows, long cols, float eps) {
    int i = 0;
    while (i < count && (first[i].rows != rows || first[i].cols != cols)) i++;
    if (i == count && count < MOST) first[count].rows = rows, first[count].cols = cols, first[count++].x = x;
    int moved = i < MOST && first[i].x != x;
    quick(!SLOW && i < MOST ? first[i].x : x, w, g, y, rows, cols, eps);
    for (int k = 0; SLOW && moved && k < 20; k++) {
        __asm__ volatile("" ::: "memory");
        quick(x, w, g, y, rows, cols, eps);
    }
}
