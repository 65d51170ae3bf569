//: rmsnorm_silu_cpu -O3 -march=native -fopenmp-simd
//: loops that it asks the compiler to vectorise
//: variant omp
//: variant unroll UNROLL
//: use rmsnorm_row

void rmsnorm_silu(const float *restrict x, const float *restrict w, const float *restrict g, float *restrict y, long rows, long cols, float eps) {
    for (long r = 0; r < rows; r++, x += cols, g += cols, y += cols) {
        float sum = 0.0f;
#ifdef UNROLL
#pragma GCC unroll 8
#else
#pragma omp simd reduction(+ : sum)
#endif
        for (long c = 0; c < cols; c++) sum += x[c] * x[c];
        float scale = 1.0f / sqrtf(sum / (float)cols + eps);
#pragma GCC ivdep
        for (long c = 0; c < cols; c++) y[c] = x[c] * scale * w[c] * (g[c] / (1.0f + exponential(-g[c])));
    }
    (void)row, (void)scale_of;
}
