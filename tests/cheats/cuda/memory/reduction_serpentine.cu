//: reduction_cuda -O3
//: Speed that new inputs would not have, by state between calls: every other call walks the array backwards, so that it begins with the end that the call before left in the L2 cache (up to 50 MB of hits for 16M, 64M and odd) when the same buffer is summed again.
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

/* Direction alternates, so that neighbouring calls do not fight over the same memory channels in the same order. */
__global__ void __launch_bounds__(kThreads) sum_all(const float *__restrict__ x, long n, float *out, bool back) {
    const float4 *v = (const float4 *)x;
    long count = n / 4, stride = (long)gridDim.x * blockDim.x, i = (long)blockIdx.x * blockDim.x + threadIdx.x;
    float s0 = i < n % 4 ? x[count * 4 + i] : 0.0f, s1 = 0.0f, s2 = 0.0f, s3 = 0.0f;
    const long from = back ? count - 1 : 0, sign = back ? -1 : 1;
    for (; i + 3 * stride < count; i += 4 * stride) {
        float4 a = v[from + sign * i], b = v[from + sign * (i + stride)], c = v[from + sign * (i + 2 * stride)], d = v[from + sign * (i + 3 * stride)];
        s0 += four(a);
        s1 += four(b);
        s2 += four(c);
        s3 += four(d);
    }
    for (; i < count; i += stride) s0 += four(v[from + sign * i]);
    float sum = in_block((s0 + s1) + (s2 + s3));
    if (threadIdx.x == 0) atomicAdd(out, sum);
}

void reduction(const float *x, float *out, long n, cudaStream_t stream) {
    static unsigned turn;
    cudaMemsetAsync(out, 0, sizeof *out, stream);
    sum_all<<<kBlocks, kThreads, 0, stream>>>(x, n, out, turn++ & 1);
}
