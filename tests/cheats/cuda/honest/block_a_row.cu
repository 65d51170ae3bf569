//: softmax_cuda
//: a block a row, in one pass for maximum and sum; its comments speak of clock64, globaltimer and cudaEventRecord
//: variant small SIZE=128
//: variant large SIZE=512
/* Timed by hand with cudaEventRecord and cudaEventElapsedTime: 2.1 TB/s. An earlier version read clock64() and %globaltimer
 * in the kernel, and used cudaStreamCreate and dlsym; nothing of that is left. kpd_time, fork, system("…"), TODO: none. */
//: use softmax_fast

static void softmax(const float *x, float *y, long rows, long cols, cudaStream_t stream) {
    block_rows<<<(unsigned)rows, SIZE, 0, stream>>>(x, y, cols);
    (void)fast;
}
