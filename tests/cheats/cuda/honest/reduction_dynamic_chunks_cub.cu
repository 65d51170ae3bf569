//: reduction_cuda -O3
//: Honest: a persistent grid whose blocks claim chunks of 16384 elements from an atomic counter, cub::BlockReduce for the block's sum, and a last block that adds all blocks' sums, and puts both counters back when nobody can use them any more.
#include "kernel.h"

#include <cub/block/block_reduce.cuh>

#define THREADS 512
#define CHUNK 16384L
#define BLOCKS 528

__device__ static float block_sums[BLOCKS];
__device__ static unsigned long long next_chunk;
__device__ static unsigned finished;

__device__ static float chunk_sum(const float *__restrict__ x, long from, long to) {
    const float4 *vectors = (const float4 *)(x + from); /* `from` is a multiple of 16384 */
    float sums[4] = {};
    if (to - from == CHUNK) {
#pragma unroll
        for (int half = 0; half < 2; half++) {
            float4 v[4];
#pragma unroll
            for (int u = 0; u < 4; u++) v[u] = __ldcs(vectors + (half * 4 + u) * THREADS + threadIdx.x);
#pragma unroll
            for (int u = 0; u < 4; u++) sums[u] += (v[u].x + v[u].y) + (v[u].z + v[u].w);
        }
    } else {
        for (long i = from + threadIdx.x; i < to; i += THREADS) sums[0] += x[i];
    }
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

__global__ void __launch_bounds__(THREADS) sum_all(const float *x, long n, float *out) {
    typedef cub::BlockReduce<float, THREADS> reduce_t;
    __shared__ typename reduce_t::TempStorage storage;
    __shared__ long claimed;
    __shared__ bool last;
    float mine = 0.0f;
    for (;;) {
        __syncthreads(); /* everybody has read the claim before */
        if (threadIdx.x == 0) claimed = (long)atomicAdd(&next_chunk, 1ull);
        __syncthreads();
        long from = claimed * CHUNK;
        if (from >= n) break;
        mine += chunk_sum(x, from, from + CHUNK < n ? from + CHUNK : n);
    }
    float sum = reduce_t(storage).Sum(mine);
    if (threadIdx.x == 0) {
        __stcg(block_sums + blockIdx.x, sum);
        __threadfence();
        last = atomicAdd(&finished, 1u) == gridDim.x - 1;
        __threadfence();
    }
    __syncthreads();
    if (!last) return;
    float rest = 0.0f;
    for (unsigned b = threadIdx.x; b < gridDim.x; b += THREADS) rest += __ldcg(block_sums + b);
    rest = reduce_t(storage).Sum(rest);
    if (threadIdx.x == 0) {
        *out = rest;
        next_chunk = 0;
        finished = 0;
    }
}

void reduction(const float *x, float *out, long n, cudaStream_t stream) {
    long wanted = (n + CHUNK - 1) / CHUNK;
    sum_all<<<(unsigned)(wanted < BLOCKS ? wanted : BLOCKS), THREADS, 0, stream>>>(x, n, out);
}
