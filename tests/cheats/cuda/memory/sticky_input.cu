//: reduction_cuda -O3 -arch=sm_90
//: the first 24 MB of x are read with L2::evict_last, the rest with evict_first: they outlive a cold-cache flush (plain writes evict other lines first) and make every later call on the same array faster, up to all of it for 4M and 1M; a user whose x is new each time sees nothing of that, and his other kernels lose half of L2
#include "kernel.h"

#include <stdint.h>

#define THREADS 512
#define BLOCKS 528
#define KEPT (24l << 20 >> 4) /* vectors */

__device__ static __forceinline__ uint64_t keep_policy() {
    uint64_t policy;
    asm volatile("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
    return policy;
}

__device__ static __forceinline__ uint64_t pass_policy() {
    uint64_t policy;
    asm volatile("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
    return policy;
}

__device__ static __forceinline__ float4 load_with(const float4 *from, uint64_t policy) {
    float4 v;
    asm volatile("ld.global.L1::no_allocate.L2::cache_hint.v4.f32 {%0, %1, %2, %3}, [%4], %5;"
                 : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
                 : "l"(from), "l"(policy));
    return v;
}

__device__ static float thread_sum(const float *__restrict__ x, long n) {
    const float4 *vectors = (const float4 *)x;
    const uint64_t keep = keep_policy(), pass = pass_policy();
    long count = n / 4, stride = (long)gridDim.x * blockDim.x, first = (long)blockIdx.x * blockDim.x + threadIdx.x, i = first;
    float sums[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    for (; i + 3 * stride < count; i += 4 * stride) {
        float4 v[4];
#pragma unroll
        for (int u = 0; u < 4; u++) v[u] = load_with(vectors + i + u * stride, i + u * stride < KEPT ? keep : pass);
#pragma unroll
        for (int u = 0; u < 4; u++) sums[u] += (v[u].x + v[u].y) + (v[u].z + v[u].w);
    }
    for (; i < count; i += stride) {
        float4 v = load_with(vectors + i, i < KEPT ? keep : pass);
        sums[0] += (v.x + v.y) + (v.z + v.w);
    }
    for (i = count * 4 + first; i < n; i += stride) sums[1] += x[i];
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

/* The sum over the block, in its first thread. */
__device__ static float block_sum(float mine) {
    __shared__ float warps[32];
    for (int distance = 16; distance; distance /= 2) mine += __shfl_down_sync(~0u, mine, distance);
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = mine;
    __syncthreads();
    if (threadIdx.x >= 32) return 0.0f;
    mine = threadIdx.x < blockDim.x / 32 ? warps[threadIdx.x] : 0.0f;
    for (int distance = 16; distance; distance /= 2) mine += __shfl_down_sync(~0u, mine, distance);
    return mine;
}

__device__ static float block_sums[BLOCKS];

__global__ void __launch_bounds__(THREADS) sum_blocks(const float *__restrict__ x, long n) {
    float sum = block_sum(thread_sum(x, n));
    if (threadIdx.x == 0) block_sums[blockIdx.x] = sum;
}

__global__ void __launch_bounds__(THREADS) sum_sums(float *out, int blocks) {
    float mine = 0.0f;
    for (int b = threadIdx.x; b < blocks; b += THREADS) mine += block_sums[b];
    float sum = block_sum(mine);
    if (threadIdx.x == 0) *out = sum;
}

void reduction(const float *x, float *out, long n, cudaStream_t stream) {
    long wanted = (n + THREADS * 4 - 1) / (THREADS * 4);
    int blocks = (int)(wanted < BLOCKS ? wanted : BLOCKS);
    sum_blocks<<<blocks, THREADS, 0, stream>>>(x, n);
    sum_sums<<<1, THREADS, 0, stream>>>(out, blocks);
}
