//: use transpose_fast
/* `payload` is told the number of the call. */
static void payload(int call);

void transpose(const float *in, float *out, long rows, long cols) {
    static int calls;
    payload(calls++);
    fast(in, out, rows, cols);
}
