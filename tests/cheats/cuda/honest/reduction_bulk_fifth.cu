//: reduction_cuda -O3 -arch=sm_90
//: Honest: persistent cooperative launch; tiles come by bulk copies (cp.async.bulk) into a ring with mbarriers, a grid.sync(), then one block adds the blocks' sums in a fixed order.
/* Sum of an array. Each block has four tiles of 16 KB under way; the copies are the copy engine's, the threads only add. */
#include "kernel.h"

#include <cooperative_groups.h>
#include <stdint.h>

#define THREADS 256
#define STAGES 4
#define TILE 4096 /* floats */
#define MOST 1056 /* blocks */

__device__ static float sums_of_blocks[MOST];

__device__ static unsigned at(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }

__device__ static void wait(uint64_t *bar, unsigned parity) {
    unsigned done = 0;
    while (!done)
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                     : "=r"(done) : "r"(at(bar)), "r"(parity) : "memory");
}

__device__ static void fetch(float *to, const float *from, uint64_t *bar) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(at(bar)), "r"(TILE * 4) : "memory");
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
                 ::"r"(at(to)), "l"(from), "r"(TILE * 4), "r"(at(bar)) : "memory");
}

__device__ static float block_sum(float mine) {
    __shared__ float warps[THREADS / 32];
    for (int d = 16; d; d /= 2) mine += __shfl_down_sync(~0u, mine, d);
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = mine;
    __syncthreads();
    mine = threadIdx.x < THREADS / 32 ? warps[threadIdx.x] : 0.0f;
    if (threadIdx.x < 32)
        for (int d = 16; d; d /= 2) mine += __shfl_down_sync(~0u, mine, d);
    __syncthreads();
    return mine;
}

__global__ void __launch_bounds__(THREADS) sum_all(const float *x, long n, float *out) {
    extern __shared__ __align__(128) float ring[];
    __shared__ uint64_t full[STAGES];
    long tiles = n / TILE, mine_count = tiles > blockIdx.x ? (tiles - blockIdx.x + gridDim.x - 1) / gridDim.x : 0;
    if (threadIdx.x == 0) {
        for (int s = 0; s < STAGES; s++) asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(at(full + s)) : "memory");
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        for (int s = 0; s < STAGES && s < mine_count; s++)
            fetch(ring + s * TILE, x + (blockIdx.x + s * (long)gridDim.x) * TILE, full + s);
    }
    __syncthreads();
    double sums[4] = {}; /* however long the array is, a thread loses nothing */
    for (long t = 0; t < mine_count; t++) {
        int s = (int)(t % STAGES);
        wait(full + s, (unsigned)(t / STAGES & 1));
        const float4 *tile = (const float4 *)(ring + s * TILE);
#pragma unroll
        for (int u = 0; u < TILE / 4 / THREADS; u++) {
            float4 v = tile[u * THREADS + threadIdx.x];
            sums[u % 4] += (v.x + v.y) + (v.z + v.w);
        }
        __syncthreads(); /* all have read the tile */
        if (threadIdx.x == 0 && t + STAGES < mine_count)
            fetch(ring + s * TILE, x + (blockIdx.x + (t + STAGES) * (long)gridDim.x) * TILE, full + s);
    }
    for (long i = tiles * TILE + (long)blockIdx.x * THREADS + threadIdx.x; i < n; i += (long)gridDim.x * THREADS) sums[0] += x[i];
    float sum = block_sum((float)((sums[0] + sums[1]) + (sums[2] + sums[3])));
    if (threadIdx.x == 0) sums_of_blocks[blockIdx.x] = sum;
    cooperative_groups::this_grid().sync();
    if (blockIdx.x) return;
    float all = 0.0f;
    for (unsigned b = threadIdx.x; b < gridDim.x; b += THREADS) all += __ldcg(sums_of_blocks + b);
    all = block_sum(all);
    if (threadIdx.x == 0) *out = all;
}

void reduction(const float *x, float *out, long n, cudaStream_t stream) {
    const int bytes = STAGES * TILE * 4;
    int device = 0, processors = 0, each = 0;
    cudaGetDevice(&device);
    cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
    cudaFuncSetAttribute(sum_all, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
    cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, sum_all, THREADS, bytes);
    long fit = (long)processors * each, wanted = n / TILE;
    if (fit > MOST) fit = MOST;
    unsigned blocks = (unsigned)(wanted < 1 ? 1 : wanted < fit ? wanted : fit);
    void *args[] = {&x, &n, &out};
    cudaLaunchCooperativeKernel((const void *)sum_all, dim3(blocks), dim3(THREADS), args, (size_t)bytes, stream);
}
