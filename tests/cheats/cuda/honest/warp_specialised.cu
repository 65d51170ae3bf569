//: reduction_cuda
//: one warp asks for chunks by bulk copies and seven add them up; barriers tell which stages are full and which are free again
#include "kernel.h"

#include <stdint.h>

#define CHUNK 3584 /* floats: of each of 224 threads four vectors */
#define STAGES 4
#define CONSUMERS 224
#define BLOCKS 396

__device__ static float of_grid[BLOCKS];

__device__ static uint32_t shared_at(const void *p) { return (uint32_t)__cvta_generic_to_shared(p); }

__device__ static void begin(uint64_t *barrier, unsigned arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_at(barrier)), "r"(arrivals) : "memory");
}

__device__ static void arrive(uint64_t *barrier) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_at(barrier)) : "memory");
}

__device__ static void wait(uint64_t *barrier, uint32_t phase) {
    uint32_t done = 0;
    while (!done)
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                     : "=r"(done)
                     : "r"(shared_at(barrier)), "r"(phase)
                     : "memory");
}

__device__ static void ask(float *to, const float *from, uint64_t *barrier) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_at(barrier)), "r"(CHUNK * 4) : "memory");
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(shared_at(to)),
                 "l"(from), "r"(CHUNK * 4), "r"(shared_at(barrier))
                 : "memory");
}

__global__ void __launch_bounds__(256) sum_all(const float *__restrict__ x, long n) {
    extern __shared__ __align__(128) float stages[];
    __shared__ uint64_t full[STAGES], empty[STAGES];
    __shared__ float warps[CONSUMERS / 32];
    if (threadIdx.x == 0) {
        for (int s = 0; s < STAGES; s++) begin(full + s, 1), begin(empty + s, CONSUMERS / 32);
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();
    long chunks = n / CHUNK;
    if (threadIdx.x >= CONSUMERS) {
        if (threadIdx.x == CONSUMERS) {
            int step = 0;
            for (long chunk = blockIdx.x; chunk < chunks; chunk += gridDim.x, step++) {
                int stage = step % STAGES, round = step / STAGES;
                if (round) wait(empty + stage, (round - 1) & 1);
                ask(stages + stage * CHUNK, x + chunk * CHUNK, full + stage);
            }
        }
        return;
    }
    float sums[4] = {0.0f};
    int step = 0;
    for (long chunk = blockIdx.x; chunk < chunks; chunk += gridDim.x, step++) {
        int stage = step % STAGES, round = step / STAGES;
        wait(full + stage, round & 1);
        const float4 *vectors = (const float4 *)(stages + stage * CHUNK);
#pragma unroll
        for (int k = 0; k < CHUNK / 4 / CONSUMERS; k++) {
            float4 v = vectors[k * CONSUMERS + threadIdx.x];
            sums[k] += (v.x + v.y) + (v.z + v.w);
        }
        __syncwarp();
        if (threadIdx.x % 32 == 0) arrive(empty + stage);
    }
    for (long i = chunks * CHUNK + (long)blockIdx.x * CONSUMERS + threadIdx.x; i < n; i += (long)gridDim.x * CONSUMERS) sums[0] += x[i];
    float sum = (sums[0] + sums[1]) + (sums[2] + sums[3]);
    for (int d = 16; d; d /= 2) sum += __shfl_down_sync(~0u, sum, d);
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = sum;
    asm volatile("bar.sync 1, %0;" ::"n"(CONSUMERS) : "memory"); /* the warp that asks has gone */
    if (threadIdx.x) return;
    for (int w = 1; w < CONSUMERS / 32; w++) sum += warps[w];
    of_grid[blockIdx.x] = sum;
}

__global__ void __launch_bounds__(128) sum_grid(float *out) {
    __shared__ float warps[4];
    float sum = 0.0f;
    for (int b = threadIdx.x; b < BLOCKS; b += 128) sum += of_grid[b];
    for (int d = 16; d; d /= 2) sum += __shfl_down_sync(~0u, sum, d);
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x == 0) *out = (warps[0] + warps[1]) + (warps[2] + warps[3]);
}

void reduction(const float *x, float *out, long n, cudaStream_t stream) {
    static const int bytes = STAGES * CHUNK * 4;
    static cudaError_t allowed = cudaFuncSetAttribute(sum_all, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
    if (allowed != cudaSuccess) return;
    sum_all<<<BLOCKS, 256, bytes, stream>>>(x, n);
    sum_grid<<<1, 128, 0, stream>>>(out);
}
