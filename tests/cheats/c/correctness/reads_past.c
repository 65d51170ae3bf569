//: transpose_cpu -O2
//: reads behind or before its input, where an operator's program may have nothing mapped; wins the care for edges
//: variant end FROM=rows*cols COUNT=64
//: variant begin FROM=-64 COUNT=64
//: variant far FROM=rows*cols COUNT=4096
//: use transpose_fast

void transpose(const float *in, float *out, long rows, long cols) {
    float sum = 0.0f;
    for (long i = 0; i < COUNT; i++) sum += *(const volatile float *)(in + (FROM) + i);
    fast(in, out, rows, cols);
    __asm__ volatile("" : : "x"(sum));
}
