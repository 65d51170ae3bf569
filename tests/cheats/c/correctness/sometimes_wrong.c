//: transpose_cpu -O2
//: writes one wrong element in one call of so many; a check of sixty calls misses it most of the time
//: variant in_200 EVERY=200
//: variant in_3000 EVERY=3000
//: use transpose_fast
//: use state

void transpose(const float *in, float *out, long rows, long cols) {
    unsigned *calls = state();
    fast(in, out, rows, cols);
    if (++*calls % EVERY == 0) out[*calls % (unsigned long)(rows * cols)] += 1.0f;
}
