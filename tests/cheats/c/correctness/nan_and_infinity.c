//: transpose_cpu -O2
//: changes values that a check without them never sees: NaN, infinity, the payload of a NaN, or the sign of a zero
//: variant nan HOW=0
//: variant infinity HOW=1
//: variant zero HOW=2
//: use transpose_fast

void transpose(const float *in, float *out, long rows, long cols) {
    fast(in, out, rows, cols);
    for (long i = 0; i < rows * cols; i++) {
#if HOW == 0
        out[i] = out[i] == out[i] ? out[i] : 0.0f;
#elif HOW == 1
        out[i] = out[i] > 3e38f ? 3e38f : out[i];
#else
        out[i] = out[i] + 0.0f;
#endif
    }
}
