//: transpose_cpu -O2
//: uses its input as memory to work in and puts it back; harmful where another thread reads it
//: use transpose_fast

void transpose(const float *in, float *out, long rows, long cols) {
    float *scratch = (float *)in, kept[16];
    for (int i = 0; i < 16; i++) kept[i] = scratch[i], ((volatile float *)scratch)[i] = 0.0f;
    __asm__ volatile("" ::: "memory");
    for (int i = 0; i < 16; i++) ((volatile float *)scratch)[i] = kept[i];
    fast(in, out, rows, cols);
}
