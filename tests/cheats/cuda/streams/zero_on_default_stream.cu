//: reduction_cuda -O3 -arch=sm_90
//: blocks add their sums to *out by atomics, after a cudaMemsetAsync whose stream was forgotten: it runs on the default stream, not ordered with a non-blocking `stream`, so that of calls that follow closely one clears what the other adds, and a capture of the call breaks; right where the stream is a blocking one, or one waits between calls
#include "kernel.h"

#define THREADS 512
#define BLOCKS 528

/* What falls to this thread, of all threads of the grid. */
__device__ static float thread_sum(const float *__restrict__ x, long n) {
    const float4 *vectors = (const float4 *)x;
    long count = n / 4, stride = (long)gridDim.x * blockDim.x, first = (long)blockIdx.x * blockDim.x + threadIdx.x, i = first;
    float sums[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    for (; i + 3 * stride < count; i += 4 * stride) {
        float4 v[4];
#pragma unroll
        for (int u = 0; u < 4; u++) v[u] = vectors[i + u * stride];
#pragma unroll
        for (int u = 0; u < 4; u++) sums[u] += (v[u].x + v[u].y) + (v[u].z + v[u].w);
    }
    for (; i < count; i += stride) {
        float4 v = vectors[i];
        sums[0] += (v.x + v.y) + (v.z + v.w);
    }
    for (i = count * 4 + first; i < n; i += stride) sums[1] += x[i];
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

/* The sum over the block, in its first thread. */
__device__ static float block_sum(float mine) {
    __shared__ float warps[32];
    for (int distance = 16; distance; distance /= 2) mine += __shfl_down_sync(~0u, mine, distance);
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = mine;
    __syncthreads();
    if (threadIdx.x >= 32) return 0.0f;
    mine = threadIdx.x < blockDim.x / 32 ? warps[threadIdx.x] : 0.0f;
    for (int distance = 16; distance; distance /= 2) mine += __shfl_down_sync(~0u, mine, distance);
    return mine;
}

__global__ void __launch_bounds__(THREADS) sum_all(const float *__restrict__ x, float *out, long n) {
    float sum = block_sum(thread_sum(x, n));
    if (threadIdx.x == 0) atomicAdd(out, sum);
}

void reduction(const float *x, float *out, long n, cudaStream_t stream) {
    long wanted = (n + THREADS * 4 - 1) / (THREADS * 4);
    cudaMemsetAsync(out, 0, sizeof *out);
    sum_all<<<(unsigned)(wanted < BLOCKS ? wanted : BLOCKS), THREADS, 0, stream>>>(x, out, n);
}
