//: reduction_cuda -O3
//: Style: cooperative groups and clusters of eight blocks, whose first collects the sums through distributed shared memory and adds them to the output by one atomic each.
#include "kernel.h"

#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;

constexpr int kThreads = 256, kCluster = 8, kBlocks = 132 * kCluster;

__global__ void __cluster_dims__(kCluster) __launch_bounds__(kThreads) sum_all(const float *__restrict__ x, long n, float *out) {
    __shared__ float warps[kThreads / 32], mine;
    cg::cluster_group cluster = cg::this_cluster();
    auto block = cg::this_thread_block();
    auto warp = cg::tiled_partition<32>(block);
    const float4 *v = (const float4 *)x;
    long count = n / 4, stride = (long)gridDim.x * kThreads, i = (long)blockIdx.x * kThreads + threadIdx.x;
    float s[4] = {i < n % 4 ? x[count * 4 + i] : 0.0f};
    for (; i + 3 * stride < count; i += 4 * stride) {
        float4 f[4];
#pragma unroll
        for (int u = 0; u < 4; u++) f[u] = __ldcs(v + i + u * stride);
#pragma unroll
        for (int u = 0; u < 4; u++) s[u] += (f[u].x + f[u].y) + (f[u].z + f[u].w);
    }
    for (; i < count; i += stride) {
        float4 f = __ldcs(v + i);
        s[1] += (f.x + f.y) + (f.z + f.w);
    }
    float sum = cg::reduce(warp, (s[0] + s[1]) + (s[2] + s[3]), cg::plus<float>());
    if (warp.thread_rank() == 0) warps[warp.meta_group_rank()] = sum;
    block.sync();
    if (threadIdx.x == 0) {
        sum = 0.0f;
        for (float w : warps) sum += w;
        mine = sum;
    }
    cluster.sync();
    if (cluster.block_rank() == 0 && threadIdx.x == 0) {
        sum = 0.0f;
        for (int r = 0; r < kCluster; r++) sum += *cluster.map_shared_rank(&mine, r);
        atomicAdd(out, sum);
    }
    cluster.sync(); /* nobody leaves while its shared memory is read */
}

void reduction(const float *x, float *out, long n, cudaStream_t stream) {
    cudaMemsetAsync(out, 0, sizeof *out, stream);
    sum_all<<<kBlocks, kThreads, 0, stream>>>(x, n, out);
}
