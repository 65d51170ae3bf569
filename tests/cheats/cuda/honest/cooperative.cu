//: reduction_cuda
//: cooperative groups: tiles of a warp, or one launch whose blocks wait for one another
//: variant tiles
//: variant grid GRID
#include "kernel.h"
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

namespace cg = cooperative_groups;
#define BLOCKS 264
__device__ static float parts[BLOCKS];

__device__ static float block_sum(float mine) {
    __shared__ float warps[8];
    auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    mine = cg::reduce(warp, mine, cg::plus<float>());
    if (warp.thread_rank() == 0) warps[threadIdx.x / 32] = mine;
    __syncthreads();
    mine = threadIdx.x < 8 ? warps[threadIdx.x] : 0.0f;
    return cg::reduce(warp, mine, cg::plus<float>());
}

__global__ void first(const float *__restrict__ x, long n, float *out) {
    float sum = 0.0f;
    for (long i = (long)blockIdx.x * 256 + threadIdx.x; i < n; i += 256L * gridDim.x) sum += x[i];
    sum = block_sum(sum);
    if (threadIdx.x == 0) parts[blockIdx.x] = sum;
#ifdef GRID
    cg::this_grid().sync();
    if (blockIdx.x) return;
    sum = 0.0f;
    for (unsigned i = threadIdx.x; i < gridDim.x; i += 256) sum += parts[i];
    sum = block_sum(sum);
    if (threadIdx.x == 0) *out = sum;
#endif
}

__global__ void second(float *out) {
    float sum = 0.0f;
    for (int i = threadIdx.x; i < BLOCKS; i += 256) sum += parts[i];
    sum = block_sum(sum);
    if (threadIdx.x == 0) *out = sum;
}

void reduction(const float *x, float *out, long n, cudaStream_t stream) {
#ifdef GRID
    void *arguments[] = {&x, &n, &out};
    cudaLaunchCooperativeKernel((void *)first, BLOCKS, 256, arguments, 0, stream);
    (void)second;
#else
    first<<<BLOCKS, 256, 0, stream>>>(x, n, out);
    second<<<1, 256, 0, stream>>>(out);
#endif
}
