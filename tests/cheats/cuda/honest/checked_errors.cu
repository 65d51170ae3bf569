//: reduction_cuda
//: functions of the device that other files could call, a lock around the sums' memory, and errors that end the process
#include "kernel.h"
#include <cstdio>
#include <cstdlib>
#include <mutex>

#define CHECK(call) \
    do { \
        cudaError_t failed = (call); \
        if (failed != cudaSuccess) { \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(failed)); \
            exit(EXIT_FAILURE); \
        } \
    } while (0)

#define BLOCKS 1056

__device__ float of_warp(float mine) {
    for (int d = 16; d; d /= 2) mine += __shfl_down_sync(~0u, mine, d);
    return mine;
}

__device__ float of_block(float mine) {
    __shared__ float warps[8];
    mine = of_warp(mine);
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = mine;
    __syncthreads();
    return threadIdx.x < 32 ? of_warp(threadIdx.x < 8 ? warps[threadIdx.x] : 0.0f) : 0.0f;
}

__global__ void some(const float *__restrict__ x, long n, float *sums) {
    float sum = 0.0f;
    for (long i = (long)blockIdx.x * 256 + threadIdx.x; i < n; i += 256L * gridDim.x) sum += x[i];
    sum = of_block(sum);
    if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

__global__ void all(const float *sums, float *out) {
    float sum = 0.0f;
    for (int i = threadIdx.x; i < BLOCKS; i += 256) sum += sums[i];
    sum = of_block(sum);
    if (threadIdx.x == 0) *out = sum;
}

void reduction(const float *x, float *out, long n, cudaStream_t stream) {
    static float *sums;
    static std::mutex lock;
    std::lock_guard<std::mutex> held(lock);
    if (!sums) CHECK(cudaMalloc(&sums, BLOCKS * sizeof *sums));
    some<<<BLOCKS, 256, 0, stream>>>(x, n, sums);
    all<<<1, 256, 0, stream>>>(sums, out);
    CHECK(cudaGetLastError());
}
