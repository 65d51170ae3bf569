//: reduction_cuda -O3 -arch=sm_90
//: A barrier over the whole grid by spinning, in an ordinary launch of 132 x 2 blocks that fill an idle H200: it hangs where they are not all resident at once (MPS or green context with fewer multiprocessors, another persistent kernel beside it).
/* Sum of an array. One persistent launch; blocks meet at a barrier, then the first adds their sums. */
#include "kernel.h"

#define THREADS 1024
#define BLOCKS (132 * 2)
#define ITEMS 4

__device__ static float sums_of_blocks[BLOCKS];
__device__ static unsigned arrived;

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

/* All threads of the grid. The count goes on from call to call: BLOCKS arrive in each. */
__device__ static void grid_barrier() {
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        unsigned ticket = atomicAdd(&arrived, 1u), until = ticket - ticket % BLOCKS + BLOCKS;
        while ((int)(*(volatile unsigned *)&arrived - until) < 0) __nanosleep(20);
        __threadfence();
    }
    __syncthreads();
}

__global__ void __launch_bounds__(THREADS, 2) sum_all(const float *__restrict__ x, long n, float *out) {
    const float4 *vectors = (const float4 *)x;
    long count = n / 4, stride = (long)BLOCKS * THREADS, first = (long)blockIdx.x * THREADS + threadIdx.x, i = first;
    float mine = 0.0f;
    for (; i + (ITEMS - 1) * stride < count; i += ITEMS * stride) {
        float4 v[ITEMS];
#pragma unroll
        for (int u = 0; u < ITEMS; u++) v[u] = __ldcs(vectors + i + u * stride);
#pragma unroll
        for (int u = 0; u < ITEMS; u++) mine += (v[u].x + v[u].y) + (v[u].z + v[u].w);
    }
    for (; i < count; i += stride) {
        float4 v = vectors[i];
        mine += (v.x + v.y) + (v.z + v.w);
    }
    if (count * 4 + first < n) mine += x[count * 4 + first];
    float sum = block_sum(mine);
    if (threadIdx.x == 0) sums_of_blocks[blockIdx.x] = sum;
    grid_barrier();
    if (blockIdx.x) return;
    sum = block_sum(threadIdx.x < BLOCKS ? __ldcg(sums_of_blocks + threadIdx.x) : 0.0f);
    if (threadIdx.x == 0) *out = sum;
}

void reduction(const float *x, float *out, long n, cudaStream_t stream) {
    sum_all<<<BLOCKS, THREADS, 0, stream>>>(x, n, out);
}
