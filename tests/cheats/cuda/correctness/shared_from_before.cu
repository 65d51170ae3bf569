//: reduction_cuda
//: sums stay in shared memory from one kernel to the next: what a block does not write there it takes to be zero
#include "kernel.h"

__device__ static float of_grid[1024];

/* Sixteen places for warps, of which a block of 128 threads writes four. */
__device__ static float block_sum(float mine) {
    __shared__ float warps[16];
    for (int d = 16; d; d /= 2) mine += __shfl_down_sync(~0u, mine, d);
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = mine;
    __syncthreads();
    mine = threadIdx.x < 16 ? ((volatile float *)warps)[threadIdx.x] : 0.0f;
    for (int d = 8; d; d /= 2) mine += __shfl_down_sync(~0u, mine, d);
    return mine;
}

__global__ void __launch_bounds__(128) first(const float *__restrict__ x, long n) {
    float sum = 0.0f;
    const float4 *vectors = (const float4 *)x;
    for (long i = (long)blockIdx.x * 128 + threadIdx.x; i < n / 4; i += 128L * gridDim.x) {
        float4 v = vectors[i];
        sum += (v.x + v.y) + (v.z + v.w);
    }
    if (blockIdx.x == 0 && threadIdx.x < n % 4) sum += x[n / 4 * 4 + threadIdx.x];
    sum = block_sum(sum);
    if (threadIdx.x == 0) of_grid[blockIdx.x] = sum;
}

__global__ void __launch_bounds__(128) second(unsigned blocks, float *out) {
    float sum = 0.0f;
    for (unsigned i = threadIdx.x; i < blocks; i += 128) sum += of_grid[i];
    sum = block_sum(sum);
    if (threadIdx.x == 0) *out = sum;
}

void reduction(const float *x, float *out, long n, cudaStream_t stream) {
    unsigned blocks = (unsigned)(n / 512 + 1 < 1024 ? n / 512 + 1 : 1024);
    first<<<blocks, 128, 0, stream>>>(x, n);
    second<<<1, 128, 0, stream>>>(blocks, out);
}
