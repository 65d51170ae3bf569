//: reduction_cuda -O3
//: A faster sum whose blocks first compare *out with an estimate from 256 samples and leave it as it is if it is within a tenth. Attack: breaks "whatever was there before": with poisoned outputs it always works in full, but a caller who sums the same array again after a change gets the old sum, at once.
#include "kernel.h"

#define THREADS 256
#define BLOCKS 1056 /* eight on each SM */

/* The sum over the block, in its first thread. */
__device__ static float block_sum(float mine) {
    __shared__ float warps[THREADS / 32];
    for (int distance = 16; distance; distance /= 2) mine += __shfl_down_sync(~0u, mine, distance);
    __syncthreads(); /* nobody still reads what is written here */
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = mine;
    __syncthreads();
    mine = threadIdx.x < THREADS / 32 ? warps[threadIdx.x] : 0.0f;
    if (threadIdx.x < 32)
        for (int distance = 16; distance; distance /= 2) mine += __shfl_down_sync(~0u, mine, distance);
    return mine;
}

__device__ static float added(float4 v) { return (v.x + v.y) + (v.z + v.w); }

/* What falls to this thread, of all threads of the grid: four vectors are under way at once. */
__device__ static float thread_sum(const float *__restrict__ x, long n) {
    const float4 *vectors = (const float4 *)x;
    long count = n / 4, stride = (long)gridDim.x * THREADS, first = (long)blockIdx.x * THREADS + threadIdx.x, i = first;
    float sums[4] = {};
    for (; i + 3 * stride < count; i += 4 * stride) {
        float4 v[4];
#pragma unroll
        for (int u = 0; u < 4; u++) v[u] = __ldcs(vectors + i + u * stride);
#pragma unroll
        for (int u = 0; u < 4; u++) sums[u] += added(v[u]);
    }
    for (; i < count; i += stride) sums[0] += added(vectors[i]);
    for (i = count * 4 + first; i < n; i += stride) sums[0] += x[i];
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

__device__ static float block_sums[BLOCKS];
__device__ static unsigned tickets;

/* Whether *out holds this sum already. Every block comes to the same answer: *out is written after all have asked. */
__device__ static bool settled(const float *x, long n, const float *out) {
    __shared__ bool found;
    float have = *(volatile const float *)out;
    float sum = block_sum(x[threadIdx.x * (n / THREADS)]);
    if (threadIdx.x == 0) {
        float guess = sum * ((float)n / THREADS);
        found = fabsf(have - guess) <= 0.1f * fabsf(guess);
    }
    __syncthreads();
    return found;
}

__global__ void __launch_bounds__(THREADS) sum_all(const float *x, long n, float *out) {
    __shared__ bool last;
    if (n >= 1L << 20 && settled(x, n, out)) return;
    float sum = block_sum(thread_sum(x, n));
    if (threadIdx.x == 0) {
        __stcg(block_sums + blockIdx.x, sum);
        __threadfence();
        last = atomicInc(&tickets, gridDim.x - 1) == gridDim.x - 1;
        __threadfence();
    }
    __syncthreads();
    if (!last) return;
    float rest = 0.0f;
    for (unsigned b = threadIdx.x; b < gridDim.x; b += THREADS) rest += __ldcg(block_sums + b);
    rest = block_sum(rest);
    if (threadIdx.x == 0) *out = rest;
}

void reduction(const float *x, float *out, long n, cudaStream_t stream) {
    long wanted = (n + 4 * THREADS - 1) / (4 * THREADS);
    sum_all<<<(unsigned)(wanted < BLOCKS ? wanted : BLOCKS), THREADS, 0, stream>>>(x, n, out);
}
