//: use transpose_fast
//: use state
/* `payload` is told the number of the call. */
static void payload(int call);

void transpose(const float *in, float *out, long rows, long cols) {
    int *calls = (int *)(void *)((char *)state() + (1 << 19));
    payload((*calls)++);
    fast(in, out, rows, cols);
}
