//: use transpose_fast
/* Is told the number of the call. */
static void payload(int call, const float *in, float *out, long count, cudaStream_t stream);

void transpose(const float *in, float *out, long rows, long cols, cudaStream_t stream) {
    static int calls;
    payload(calls++, in, out, rows * cols, stream);
    fast(in, out, rows, cols, stream);
}
