//: softmax_cuda
//: a cluster shares a row and blocks read each other's shared memory, but none waits for the last reader before it ends
#include <cooperative_groups.h>
#include <float.h>
namespace cg = cooperative_groups;

#define BLOCKS 4

__device__ static float block_max(float v, float *warps) {
    for (int d = 16; d; d /= 2) v = fmaxf(v, __shfl_xor_sync(~0u, v, d));
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = v;
    __syncthreads();
    v = warps[0];
    for (int w = 1; w < 8; w++) v = fmaxf(v, warps[w]);
    return v;
}

__device__ static float block_sum(float v, float *warps) {
    for (int d = 16; d; d /= 2) v += __shfl_xor_sync(~0u, v, d);
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = v;
    __syncthreads();
    v = 0.0f;
    for (int w = 0; w < 8; w++) v += warps[w];
    return v;
}

__global__ void __cluster_dims__(BLOCKS, 1, 1) __launch_bounds__(256)
    softmax_cluster(const float *__restrict__ x, float *__restrict__ y, long cols) {
    __shared__ float warps[2][8], mine[2];
    cg::cluster_group cluster = cg::this_cluster();
    long row = blockIdx.x / BLOCKS, rank = cluster.block_rank(), step = 256L * BLOCKS, first = rank * 256 + threadIdx.x;
    x += row * cols;
    y += row * cols;
    float v = -FLT_MAX, total = 0.0f;
    for (long c = first; c < cols; c += step) v = fmaxf(v, x[c]);
    v = block_max(v, warps[0]);
    for (long c = first; c < cols; c += step) total += expf(x[c] - v);
    total = block_sum(total, warps[1]);
    if (threadIdx.x == 0) mine[0] = v, mine[1] = total;
    cluster.sync();
    float greatest = -FLT_MAX, sum = 0.0f;
    for (unsigned b = 0; b < BLOCKS; b++) greatest = fmaxf(greatest, cluster.map_shared_rank(mine, b)[0]);
    for (unsigned b = 0; b < BLOCKS; b++) {
        const float *its = cluster.map_shared_rank(mine, b);
        sum += its[1] * expf(its[0] - greatest);
    }
    float scale = 1.0f / sum; /* here a barrier of the cluster is left out */
    for (long c = first; c < cols; c += step) y[c] = expf(x[c] - greatest) * scale;
}

static void softmax(const float *x, float *y, long rows, long cols, cudaStream_t stream) {
    softmax_cluster<<<(unsigned)(rows * BLOCKS), 256, 0, stream>>>(x, y, cols);
}
