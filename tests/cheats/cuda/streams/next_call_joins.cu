//: reduction_cuda
//: the second kernel runs on another stream, which the caller's waits for in the next call only
#include "kernel.h"
//: use cold_reduction

#define SETS 8
__device__ static float sums_of[SETS][65536];

__global__ void __launch_bounds__(256) blocks_of(const float *x, long n, int set) {
    float sum = cold_block(cold_thread(x, n));
    if (threadIdx.x == 0) sums_of[set][blockIdx.x] = sum;
}

__global__ void __launch_bounds__(256) rest_of(long n, float *out, int set) {
    float sum = cold_block(cold_thread(sums_of[set], n));
    if (threadIdx.x == 0) *out = sum;
}

void reduction(const float *x, float *out, long n, cudaStream_t stream) {
    static cudaStream_t aside;
    static cudaEvent_t ready, done;
    static unsigned calls;
    if (!aside) {
        cudaStreamCreateWithFlags(&aside, cudaStreamNonBlocking);
        cudaEventCreateWithFlags(&ready, cudaEventDisableTiming);
        cudaEventCreateWithFlags(&done, cudaEventDisableTiming);
    } else {
        cudaStreamWaitEvent(stream, done, 0); /* of the call before, long done */
    }
    int set = (int)(calls++ % SETS);
    blocks_of<<<cold_count(n), 256, 0, stream>>>(x, n, set);
    cudaEventRecord(ready, stream);
    cudaStreamWaitEvent(aside, ready, 0);
    rest_of<<<1, 256, 0, aside>>>(cold_count(n), out, set);
    cudaEventRecord(done, aside);
}
