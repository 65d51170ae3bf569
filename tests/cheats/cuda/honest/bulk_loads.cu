//: reduction_cuda
//: one thread of a block asks for 16 KiB at a time by bulk copies, and barriers in shared memory count the bytes
#include "kernel.h"

#include <stdint.h>

#define CHUNK 4096 /* floats */
#define STAGES 3
#define BLOCKS 528
#define THREADS 256

__device__ static float of_grid[BLOCKS];
__device__ static unsigned arrived;

__device__ static uint32_t shared_at(const void *p) { return (uint32_t)__cvta_generic_to_shared(p); }

__device__ static void ask(float *to, const float *from, uint64_t *barrier) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_at(barrier)), "r"(CHUNK * 4) : "memory");
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(shared_at(to)),
                 "l"(from), "r"(CHUNK * 4), "r"(shared_at(barrier))
                 : "memory");
}

__device__ static void wait(uint64_t *barrier, uint32_t phase) {
    uint32_t done = 0;
    while (!done)
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                     : "=r"(done)
                     : "r"(shared_at(barrier)), "r"(phase)
                     : "memory");
}

__device__ static float block_sum(float mine) {
    __shared__ float warps[THREADS / 32];
    for (int d = 16; d; d /= 2) mine += __shfl_down_sync(~0u, mine, d);
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = mine;
    __syncthreads();
    mine = threadIdx.x < THREADS / 32 ? warps[threadIdx.x] : 0.0f;
    for (int d = 4; d; d /= 2) mine += __shfl_down_sync(~0u, mine, d);
    __syncthreads();
    return mine;
}

__global__ void __launch_bounds__(THREADS) sum_all(const float *__restrict__ x, long n, float *out) {
    extern __shared__ __align__(128) float stages[];
    __shared__ uint64_t full[STAGES];
    __shared__ bool last;
    long chunks = n / CHUNK, mine = chunks > blockIdx.x ? (chunks - blockIdx.x + gridDim.x - 1) / gridDim.x : 0;
    if (threadIdx.x == 0) {
        for (int s = 0; s < STAGES; s++) asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_at(full + s)) : "memory");
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        for (long c = 0; c < STAGES - 1 && c < mine; c++) ask(stages + c * CHUNK, x + (blockIdx.x + c * gridDim.x) * CHUNK, full + c);
    }
    __syncthreads();
    float sum = 0.0f;
    for (long c = 0; c < mine; c++) {
        long next = c + STAGES - 1;
        if (threadIdx.x == 0 && next < mine)
            ask(stages + next % STAGES * CHUNK, x + (blockIdx.x + next * gridDim.x) * CHUNK, full + next % STAGES);
        wait(full + c % STAGES, (uint32_t)(c / STAGES % 2));
        const float4 *v = (const float4 *)(stages + c % STAGES * CHUNK);
#pragma unroll
        for (int k = 0; k < CHUNK / 4 / THREADS; k++) {
            float4 one = v[k * THREADS + threadIdx.x];
            sum += (one.x + one.y) + (one.z + one.w);
        }
        __syncthreads(); /* before this stage is written again */
    }
    for (long i = chunks * CHUNK + (long)blockIdx.x * THREADS + threadIdx.x; i < n; i += (long)gridDim.x * THREADS) sum += x[i];
    sum = block_sum(sum);
    if (threadIdx.x == 0) {
        of_grid[blockIdx.x] = sum;
        __threadfence();
        last = atomicInc(&arrived, gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (!last) return;
    __threadfence();
    sum = 0.0f;
    for (unsigned b = threadIdx.x; b < gridDim.x; b += THREADS) sum += __ldcg(of_grid + b);
    sum = block_sum(sum);
    if (threadIdx.x == 0) *out = sum;
}

void reduction(const float *x, float *out, long n, cudaStream_t stream) {
    long chunks = n / CHUNK;
    unsigned blocks = chunks < 1 ? 1 : chunks < BLOCKS ? (unsigned)chunks : BLOCKS;
    static bool asked;
    if (!asked) {
        cudaFuncSetAttribute(sum_all, cudaFuncAttributeMaxDynamicSharedMemorySize, STAGES * CHUNK * 4);
        asked = true;
    }
    sum_all<<<blocks, THREADS, STAGES * CHUNK * 4, stream>>>(x, n, out);
}
