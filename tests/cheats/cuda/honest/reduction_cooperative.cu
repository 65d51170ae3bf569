//: reduction_cuda -O3
//: A cooperative launch of as many blocks as the device holds at once, with cooperative groups for the sums of warps and for the barrier over the grid, so that one launch does both phases.
#include "kernel.h"

#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

namespace cg = cooperative_groups;

#define MOST_BLOCKS 4096

__device__ static float of_blocks[MOST_BLOCKS];

__global__ void __launch_bounds__(512) reduce_grid(const float *__restrict__ x, long n, float *out) {
    __shared__ float of_warps[16];
    cg::grid_group grid = cg::this_grid();
    cg::thread_block block = cg::this_thread_block();
    auto warp = cg::tiled_partition<32>(block);
    const float4 *x4 = (const float4 *)x;
    long size = (long)grid.size(), rank = (long)grid.thread_rank();
    float s = 0.0f;
#pragma unroll 4
    for (long i = rank; i < n / 4; i += size) {
        float4 v = __ldg(x4 + i);
        s += (v.x + v.y) + (v.z + v.w);
    }
    for (long i = n / 4 * 4 + rank; i < n; i += size) s += x[i];
    s = cg::reduce(warp, s, cg::plus<float>());
    if (warp.thread_rank() == 0) of_warps[warp.meta_group_rank()] = s;
    block.sync();
    if (warp.meta_group_rank() == 0) {
        s = cg::reduce(warp, warp.thread_rank() < 16 ? of_warps[warp.thread_rank()] : 0.0f, cg::plus<float>());
        if (warp.thread_rank() == 0) of_blocks[blockIdx.x] = s;
    }
    grid.sync();
    if (blockIdx.x != 0 || warp.meta_group_rank() != 0) return;
    s = 0.0f;
    for (unsigned b = warp.thread_rank(); b < gridDim.x; b += 32) s += of_blocks[b];
    s = cg::reduce(warp, s, cg::plus<float>());
    if (warp.thread_rank() == 0) *out = s;
}

void reduction(const float *x, float *out, long n, cudaStream_t stream) {
    static int resident;
    if (!resident) {
        int device, processors, each;
        cudaGetDevice(&device);
        cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
        cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, reduce_grid, 512, 0);
        resident = processors * each < MOST_BLOCKS ? processors * each : MOST_BLOCKS;
    }
    long wanted = (n + 2047) / 2048;
    unsigned blocks = (unsigned)(wanted < resident ? wanted : resident);
    void *arguments[] = {&x, &n, &out};
    cudaLaunchCooperativeKernel((const void *)reduce_grid, dim3(blocks), dim3(512), arguments, 0, stream);
}
