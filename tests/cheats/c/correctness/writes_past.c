//: transpose_cpu -O2
//: writes beyond its output, and puts back what was there; harmful where another thread has something there
//: use transpose_fast

void transpose(const float *in, float *out, long rows, long cols) {
    volatile float *behind = out + rows * cols;
    float kept[64];
    for (int i = 0; i < 64; i++) kept[i] = behind[i], behind[i] = 0.0f;
    fast(in, out, rows, cols);
    for (int i = 0; i < 64; i++) behind[i] = kept[i];
}
