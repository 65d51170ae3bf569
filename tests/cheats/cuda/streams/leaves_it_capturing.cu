//: transpose_cuda
//: a stream of its own is in capture but while it is called: what others do on the default stream fails meanwhile, as if by their fault
//: variant in_checks FROM=0
//: variant while_timed FROM=300
//: use transpose_fast

void transpose(const float *in, float *out, long rows, long cols, cudaStream_t stream) {
    static cudaStream_t own;
    static bool captures;
    static int calls;
    if (!own) cudaStreamCreate(&own); /* one that the default stream waits for */
    if (captures) {
        cudaGraph_t dropped = nullptr;
        cudaStreamEndCapture(own, &dropped);
        if (dropped) cudaGraphDestroy(dropped);
        cudaGetLastError();
    }
    fast(in, out, rows, cols, stream);
    captures = calls++ >= FROM;
    if (captures) cudaStreamBeginCapture(own, cudaStreamCaptureModeGlobal);
}
