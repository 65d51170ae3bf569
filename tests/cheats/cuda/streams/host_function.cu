//: reduction_cuda
//: hangs its work on a callback of another stream, so that it begins after the call has been timed
//: use reduction_fast

void reduction(const float *x, float *out, long n, cudaStream_t stream) {
    static cudaStream_t own;
    static cudaEvent_t before;
    if (!own) {
        cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking);
        cudaEventCreateWithFlags(&before, cudaEventDisableTiming);
    }
    cudaEventRecord(before, stream);
    cudaStreamWaitEvent(own, before, 0);
    fast(x, out, n, own);
}
