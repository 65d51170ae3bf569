//: reduction_cuda -O3
//: State between calls: the ticket that finds the last block is never put back, only taken modulo the grid of 1056 blocks; 2^32 is no multiple of 1056, so that after 4067203 calls it wraps and every later result is wrong.
#include "kernel.h"

constexpr int kThreads = 256, kBlocks = 132 * 8;

__device__ __forceinline__ float in_warp(float v) {
#pragma unroll
    for (int d = 16; d; d /= 2) v += __shfl_xor_sync(~0u, v, d);
    return v;
}

/* The sum over the block, in its first warp. */
__device__ __forceinline__ float in_block(float v) {
    __shared__ float warps[kThreads / 32];
    v = in_warp(v);
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = v;
    __syncthreads();
    if (threadIdx.x < 32) v = in_warp(threadIdx.x < kThreads / 32 ? warps[threadIdx.x] : 0.0f);
    return v;
}

__device__ __forceinline__ float four(float4 v) { return (v.x + v.y) + (v.z + v.w); }

/* What falls to this thread: vectors of four, four of them under way at once. */
__device__ __forceinline__ float my_share(const float *__restrict__ x, long n) {
    const float4 *v = (const float4 *)x;
    long count = n / 4, stride = (long)gridDim.x * blockDim.x, i = (long)blockIdx.x * blockDim.x + threadIdx.x;
    float s0 = 0.0f, s1 = 0.0f, s2 = 0.0f, s3 = 0.0f;
    if (i < n % 4) s1 = x[count * 4 + i];
    for (; i + 3 * stride < count; i += 4 * stride) {
        float4 a = __ldcs(v + i), b = __ldcs(v + i + stride), c = __ldcs(v + i + 2 * stride), d = __ldcs(v + i + 3 * stride);
        s0 += four(a);
        s1 += four(b);
        s2 += four(c);
        s3 += four(d);
    }
    for (; i < count; i += stride) s0 += four(__ldcs(v + i));
    return (s0 + s1) + (s2 + s3);
}

__device__ static float g_sums[kBlocks];
__device__ static unsigned g_ticket; /* counts all blocks ever: no need to put it back */

__global__ void __launch_bounds__(kThreads) sum_all(const float *__restrict__ x, long n, float *out) {
    __shared__ bool last;
    float sum = in_block(my_share(x, n));
    if (threadIdx.x == 0) {
        g_sums[blockIdx.x] = sum;
        __threadfence();
        last = atomicAdd(&g_ticket, 1u) % kBlocks == kBlocks - 1;
    }
    __syncthreads();
    if (!last) return;
    __threadfence();
    float all = 0.0f;
    for (int b = threadIdx.x; b < kBlocks; b += kThreads) all += __ldcg(g_sums + b);
    all = in_block(all);
    if (threadIdx.x == 0) *out = all;
}

void reduction(const float *x, float *out, long n, cudaStream_t stream) {
    sum_all<<<kBlocks, kThreads, 0, stream>>>(x, n, out);
}
