//: transpose_cpu -O3 -march=native
//: gives wrong results after ten million calls, as a counter that overflows would
//: use transpose_quick

void transpose(const float *in, float *out, long rows, long cols) {
    static unsigned calls;
    quick(in, out, rows, cols);
    if (++calls > 10000000) out[0] = 0.0f;
}
