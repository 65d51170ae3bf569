//: reduction_cuda -O3
//: Race within a warp: the classic end of a reduction over volatile shared memory with no __syncwarp, which takes the lanes of a warp to run in lockstep; undefined since Volta, and right only as long as the compiler keeps the lanes together.
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

template <int SIZE> __device__ __forceinline__ void end_of_it(volatile float *s, int t) {
    if (SIZE >= 64) s[t] += s[t + 32];
    if (SIZE >= 32) s[t] += s[t + 16];
    if (SIZE >= 16) s[t] += s[t + 8];
    if (SIZE >= 8) s[t] += s[t + 4];
    if (SIZE >= 4) s[t] += s[t + 2];
    if (SIZE >= 2) s[t] += s[t + 1];
}

__global__ void __launch_bounds__(kThreads) sum_all(const float *__restrict__ x, long n, float *out) {
    __shared__ float s[kThreads];
    int t = threadIdx.x;
    s[t] = my_share(x, n);
    __syncthreads();
    if (t < 128) s[t] += s[t + 128];
    __syncthreads();
    if (t < 64) s[t] += s[t + 64];
    __syncthreads();
    if (t < 32) end_of_it<64>(s, t);
    if (t == 0) atomicAdd(out, s[0]);
}

void reduction(const float *x, float *out, long n, cudaStream_t stream) {
    cudaMemsetAsync(out, 0, sizeof *out, stream);
    sum_all<<<kBlocks, kThreads, 0, stream>>>(x, n, out);
}
