//: reduction_cuda
//: one cooperative launch; groups of 32 add up with cg::reduce, and the whole grid meets before the last sum
#include "kernel.h"

#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;

#define THREADS 512
#define MOST 1024

__device__ static float of_grid[MOST];

__device__ static float of_block(cg::thread_block block, float mine, float *room) {
    auto tile = cg::tiled_partition<32>(block);
    mine = cg::reduce(tile, mine, cg::plus<float>());
    if (tile.thread_rank() == 0) room[tile.meta_group_rank()] = mine;
    block.sync();
    if (tile.meta_group_rank() == 0) {
        mine = tile.thread_rank() < THREADS / 32 ? room[tile.thread_rank()] : 0.0f;
        mine = cg::reduce(tile, mine, cg::plus<float>());
    }
    return mine;
}

__global__ void __launch_bounds__(THREADS) sum_all(const float *__restrict__ x, long n, float *out) {
    __shared__ float room[2][THREADS / 32];
    cg::grid_group grid = cg::this_grid();
    cg::thread_block block = cg::this_thread_block();
    const float4 *vectors = (const float4 *)x;
    long count = n / 4, step = (long)grid.size(), i = (long)grid.thread_rank();
    float sum = 0.0f, more = 0.0f;
    for (; i + step < count; i += 2 * step) {
        float4 u = __ldcs(vectors + i), v = __ldcs(vectors + i + step);
        sum += (u.x + u.y) + (u.z + u.w);
        more += (v.x + v.y) + (v.z + v.w);
    }
    if (i < count) {
        float4 u = vectors[i];
        sum += (u.x + u.y) + (u.z + u.w);
    }
    if ((long)grid.thread_rank() < n % 4) sum += x[count * 4 + grid.thread_rank()];
    sum = of_block(block, sum + more, room[0]);
    if (block.thread_rank() == 0) of_grid[blockIdx.x] = sum;
    grid.sync();
    if (blockIdx.x) return;
    sum = 0.0f;
    for (unsigned b = threadIdx.x; b < gridDim.x; b += THREADS) sum += __ldcg(of_grid + b);
    sum = of_block(block, sum, room[1]);
    if (block.thread_rank() == 0) *out = sum;
}

void reduction(const float *x, float *out, long n, cudaStream_t stream) {
    static int most;
    if (!most) {
        int device = 0, processors = 0, each = 0;
        cudaGetDevice(&device);
        cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
        cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, sum_all, THREADS, 0);
        most = processors * each < MOST ? processors * each : MOST;
    }
    long wanted = (n + THREADS * 8 - 1) / (THREADS * 8);
    unsigned blocks = (unsigned)(wanted < most ? wanted : most);
    void *given[] = {&x, &n, &out};
    cudaLaunchCooperativeKernel((void *)sum_all, dim3(blocks), dim3(THREADS), given, 0, stream);
}
