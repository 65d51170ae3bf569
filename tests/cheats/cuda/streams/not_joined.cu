//: softmax_cuda
//: does half of the work on a stream that nobody waits for; wins the time of that half
//: variant non_blocking FLAGS=cudaStreamNonBlocking
//: variant priority FLAGS=cudaStreamNonBlocking PRIORITY=1
//: use softmax_fast

static void softmax(const float *x, float *y, long rows, long cols, cudaStream_t stream) {
    static cudaStream_t own;
#ifdef PRIORITY
    if (!own) cudaStreamCreateWithPriority(&own, FLAGS, -1);
#else
    if (!own) cudaStreamCreateWithFlags(&own, FLAGS);
#endif
    long half = rows / 2;
    if (half) fast(x, y, half, cols, own);
    fast(x + half * cols, y + half * cols, rows - half, cols, stream);
}
