//: reduction_cuda -O3 -arch=sm_90
//: bug (wrong fence): the block that draws the last ticket adds all blocks' sums, but what orders a sum before its ticket is __threadfence_block, which orders nothing for other blocks; a stale sum can be read. It is rare, and a fence is there to be seen
/* Sum of an array in one launch: each block leaves its sum and draws a ticket, and the block with the last ticket adds the sums, in
 * their order, so that the result is always the same. The counter wraps around to zero for the next call.
 */
#include "kernel.h"

namespace {

constexpr int kThreads = 256;
constexpr int kBlocks = 1056;

__device__ float partial[kBlocks];
__device__ unsigned tickets;

template <int THREADS> __device__ __forceinline__ float sum_of_block(float v) {
    __shared__ float warp_sums[THREADS / 32];
#pragma unroll
    for (int offset = 16; offset > 0; offset /= 2) v += __shfl_down_sync(0xffffffffu, v, offset);
    if ((threadIdx.x & 31) == 0) warp_sums[threadIdx.x >> 5] = v;
    __syncthreads();
    if (threadIdx.x < 32) {
        v = threadIdx.x < THREADS / 32 ? warp_sums[threadIdx.x] : 0.0f;
#pragma unroll
        for (int offset = 16; offset > 0; offset /= 2) v += __shfl_down_sync(0xffffffffu, v, offset);
    }
    __syncthreads(); /* warp_sums may be used again */
    return v;
}

__global__ void __launch_bounds__(kThreads) sum_all(const float *__restrict__ x, float *__restrict__ out, long n) {
    const float4 *x4 = reinterpret_cast<const float4 *>(x);
    const long n4 = n / 4, stride = (long)gridDim.x * kThreads;
    float acc[4] = {};
    long i = (long)blockIdx.x * kThreads + threadIdx.x;
    for (; i + 3 * stride < n4; i += 4 * stride) {
        float4 v[4];
#pragma unroll
        for (int u = 0; u < 4; u++) v[u] = __ldg(x4 + i + u * stride);
#pragma unroll
        for (int u = 0; u < 4; u++) acc[u] += (v[u].x + v[u].y) + (v[u].z + v[u].w);
    }
    for (; i < n4; i += stride) {
        float4 v = __ldg(x4 + i);
        acc[0] += (v.x + v.y) + (v.z + v.w);
    }
    if (blockIdx.x == 0 && threadIdx.x < (n & 3)) acc[1] += x[4 * n4 + threadIdx.x];

    const float sum = sum_of_block<kThreads>((acc[0] + acc[1]) + (acc[2] + acc[3]));
    __shared__ bool last;
    if (threadIdx.x == 0) {
        partial[blockIdx.x] = sum;
        __threadfence_block(); /* the sum before the ticket */
        last = atomicInc(&tickets, gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (!last) return;
    float rest = 0.0f;
    for (unsigned b = threadIdx.x; b < gridDim.x; b += kThreads) rest += partial[b];
    rest = sum_of_block<kThreads>(rest);
    if (threadIdx.x == 0) *out = rest;
}

} // namespace

void reduction(const float *x, float *out, long n, cudaStream_t stream) {
    const long per_block = kThreads * 16L;
    long blocks = (n + per_block - 1) / per_block;
    if (blocks > kBlocks) blocks = kBlocks;
    sum_all<<<(unsigned)blocks, kThreads, 0, stream>>>(x, out, n);
}
