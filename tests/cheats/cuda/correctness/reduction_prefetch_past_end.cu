//: reduction_cuda -O3 -arch=sm_90
//: The prefetch of the next 16 KB does not ask whether there is one: the last block (and any small array) reads up to 16 KB past the end of x, an illegal access where the mapping ends with the array.
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
    /* A block has a run of groups of ITEMS * THREADS vectors; the next group is under way while this one is added. */
    const long group = ITEMS * THREADS;
    const float4 *vectors = (const float4 *)x;
    long groups = n / (4 * group), from = groups * blockIdx.x / gridDim.x, to = groups * (blockIdx.x + 1) / gridDim.x;
    float mine = 0.0f, other = 0.0f;
    vectors += from * group + threadIdx.x;
    float4 v[ITEMS], next[ITEMS];
#pragma unroll
    for (int u = 0; u < ITEMS; u++) v[u] = __ldcs(vectors + u * THREADS);
    for (long g = from; g < to; g++) {
        vectors += group;
#pragma unroll
        for (int u = 0; u < ITEMS; u++) next[u] = __ldcs(vectors + u * THREADS);
        mine += four(v[0]) + four(v[1]);
        other += four(v[2]) + four(v[3]);
#pragma unroll
        for (int u = 0; u < ITEMS; u++) v[u] = next[u];
    }
    for (long i = groups * group * 4 + (long)blockIdx.x * THREADS + threadIdx.x; i < n; i += (long)gridDim.x * THREADS) other += x[i];
    float sum = block_sum(mine + other);
    __shared__ bool last;
    if (threadIdx.x == 0) {
        sums_of_blocks[blockIdx.x] = sum;
        __threadfence();
        last = atomicAdd(&tickets, 1u) == gridDim.x - 1;
    }
    __syncthreads();
    if (!last) return;
    __threadfence();
    float all = 0.0f;
    for (unsigned b = threadIdx.x; b < gridDim.x; b += THREADS) all += __ldcg(sums_of_blocks + b);
    all = block_sum(all);
    if (threadIdx.x == 0) {
        *out = all;
        tickets = 0;
    }
}

void reduction(const float *x, float *out, long n, cudaStream_t stream) {
    long wanted = n / 4 / (THREADS * ITEMS);
    unsigned blocks = (unsigned)(wanted < 1 ? 1 : wanted < BLOCKS ? wanted : BLOCKS);
    sum_all<<<blocks, THREADS, 0, stream>>>(x, n, out);
}
