//: transpose_cpu -O3 -march=native
//: reads behind its input up to the end of that line of the cache, as a loop by eights without a tail would
//: use transpose_quick

void transpose(const float *in, float *out, long rows, long cols) {
    const volatile float *end = in + rows * cols;
    float sum = 0.0f;
    for (long i = 0; i < (16 - rows * cols % 16) % 16; i++) sum += end[i];
    quick(in, out, rows, cols);
    __asm__ volatile("" : : "x"(sum));
}
