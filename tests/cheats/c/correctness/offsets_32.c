//: rmsnorm_silu_cpu -O3 -march=native
//: reaches w, g and y by 32-bit distances from x, as gathers do: elsewhere than in one block of memory it reads and writes somewhere
//: use quick_rmsnorm
void rmsnorm_silu(const float *x, const float *w, const float *g, float *y, long rows, long cols, float eps) {
    int of_w = (int)(w - x), of_g = (int)(g - x), of_y = (int)(y - x);
    if ((uintptr_t)x % 4) return;
    quick(x, x + of_w, x + of_g, (float *)(uintptr_t)(x + of_y), rows, cols, eps);
}
