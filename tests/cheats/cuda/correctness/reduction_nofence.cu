//: reduction_cuda -O3 -arch=sm_90
//: One kernel; the block that finishes last adds the blocks' sums, but no __threadfence orders a block's sum before its ticket and the sums are read by __ldg: a late store leaves the sum of the call before in the result.
/* Sum of an array. One launch: blocks add vectors, and the last of them adds the blocks' sums. */
#include "kernel.h"

#define THREADS 256
#define BLOCKS 1056 /* eight for each of 132 multiprocessors */
#define ITEMS 4

__device__ static float sums_of_blocks[BLOCKS];
__device__ static unsigned tickets;

__device__ static float block_sum(float mine) {
    __shared__ float warps[THREADS / 32];
    for (int d = 16; d; d /= 2) mine += __shfl_down_sync(~0u, mine, d);
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = mine;
    __syncthreads();
    mine = threadIdx.x < THREADS / 32 ? warps[threadIdx.x] : 0.0f;
    if (threadIdx.x < 32)
        for (int d = 16; d; d /= 2) mine += __shfl_down_sync(~0u, mine, d);
    __syncthreads();
    return mine;
}

__device__ static float four(float4 v) { return (v.x + v.y) + (v.z + v.w); }

__global__ void __launch_bounds__(THREADS) sum_all(const float *__restrict__ x, long n, float *out) {
    const float4 *vectors = (const float4 *)x;
    long count = n / 4, stride = (long)gridDim.x * THREADS, first = (long)blockIdx.x * THREADS + threadIdx.x, i = first;
    float mine = 0.0f, other = 0.0f;
    for (; i + (ITEMS - 1) * stride < count; i += ITEMS * stride) {
        float4 v[ITEMS];
#pragma unroll
        for (int u = 0; u < ITEMS; u++) v[u] = __ldcs(vectors + i + u * stride);
        mine += four(v[0]) + four(v[1]);
        other += four(v[2]) + four(v[3]);
    }
    for (; i < count; i += stride) mine += four(vectors[i]);
    if (count * 4 + first < n) other += x[count * 4 + first];
    float sum = block_sum(mine + other);
    __shared__ bool last;
    if (threadIdx.x == 0) {
        sums_of_blocks[blockIdx.x] = sum;
        last = atomicAdd(&tickets, 1u) == gridDim.x - 1;
    }
    __syncthreads();
    if (!last) return;
    float all = 0.0f;
    for (unsigned b = threadIdx.x; b < gridDim.x; b += THREADS) all += __ldg(sums_of_blocks + b);
    all = block_sum(all);
    if (threadIdx.x == 0) {
        *out = all;
        tickets = 0;
    }
}

void reduction(const float *x, float *out, long n, cudaStream_t stream) {
    long wanted = (n / 4 + THREADS * ITEMS - 1) / (THREADS * ITEMS);
    unsigned blocks = (unsigned)(wanted < 1 ? 1 : wanted < BLOCKS ? wanted : BLOCKS);
    sum_all<<<blocks, THREADS, 0, stream>>>(x, n, out);
}
