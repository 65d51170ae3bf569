//: reduction_cuda -O3
//: Vectors of four, four of them under way in each thread, shuffles, and the block that comes last (behind a fence) adds the blocks' sums: one launch at the bandwidth of the memory.
#include "kernel.h"

namespace {

constexpr int kThreads = 256, kBlocks = 1056, kUnroll = 4;

__device__ float partial[kBlocks];
__device__ unsigned finished = 0;

__device__ __forceinline__ float warp_sum(float v) {
#pragma unroll
    for (int d = 16; d > 0; d >>= 1) v += __shfl_xor_sync(0xFFFFFFFFu, v, d);
    return v;
}

__device__ __forceinline__ float block_sum(float v, float *shared) {
    v = warp_sum(v);
    if ((threadIdx.x & 31) == 0) shared[threadIdx.x >> 5] = v;
    __syncthreads();
    v = threadIdx.x < kThreads / 32 ? shared[threadIdx.x] : 0.0f;
    return threadIdx.x < 32 ? warp_sum(v) : 0.0f;
}

__global__ void __launch_bounds__(kThreads) reduce_kernel(const float *__restrict__ x, long n, float *__restrict__ out) {
    __shared__ float shared[2][kThreads / 32];
    __shared__ bool last;
    const float4 *x4 = reinterpret_cast<const float4 *>(x);
    const long n4 = n / 4, stride = (long)gridDim.x * kThreads;
    long i = (long)blockIdx.x * kThreads + threadIdx.x;
    const long tail = n4 * 4 + i;
    float acc[kUnroll] = {};
    for (; i + (kUnroll - 1) * stride < n4; i += kUnroll * stride) {
        float4 v[kUnroll];
#pragma unroll
        for (int u = 0; u < kUnroll; u++) v[u] = __ldcs(x4 + i + u * stride);
#pragma unroll
        for (int u = 0; u < kUnroll; u++) acc[u] += (v[u].x + v[u].y) + (v[u].z + v[u].w);
    }
    for (; i < n4; i += stride) {
        float4 v = __ldcs(x4 + i);
        acc[0] += (v.x + v.y) + (v.z + v.w);
    }
    if (tail < n) acc[1] += x[tail];
    float sum = block_sum((acc[0] + acc[1]) + (acc[2] + acc[3]), shared[0]);
    if (threadIdx.x == 0) {
        partial[blockIdx.x] = sum;
        __threadfence();
        last = atomicInc(&finished, gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (!last) return;
    __threadfence();
    float rest = 0.0f;
    for (unsigned b = threadIdx.x; b < gridDim.x; b += kThreads) rest += __ldcg(partial + b);
    rest = block_sum(rest, shared[1]);
    if (threadIdx.x == 0) *out = rest;
}

} // namespace

void reduction(const float *x, float *out, long n, cudaStream_t stream) {
    long blocks = (n + kThreads * 4 - 1) / (kThreads * 4);
    if (blocks > kBlocks) blocks = kBlocks;
    if (blocks < 1) blocks = 1;
    reduce_kernel<<<(unsigned)blocks, kThreads, 0, stream>>>(x, n, out);
}
