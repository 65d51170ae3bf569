//: softmax_cuda
//: eight blocks of a cluster share a long row, keep it in registers and read each other's shared memory; a warp has a short one
#include <cooperative_groups.h>
#include <float.h>
namespace cg = cooperative_groups;

#define BLOCKS 8
#define KEPT 16 /* floats of a thread */

__device__ static float warp_max(float v) {
    for (int d = 16; d; d /= 2) v = fmaxf(v, __shfl_xor_sync(~0u, v, d));
    return v;
}

__device__ static float warp_sum(float v) {
    for (int d = 16; d; d /= 2) v += __shfl_xor_sync(~0u, v, d);
    return v;
}

__global__ void __cluster_dims__(BLOCKS, 1, 1) __launch_bounds__(256)
    by_cluster(const float *__restrict__ x, float *__restrict__ y, long cols) {
    __shared__ float warps[2][8];
    __shared__ float2 mine;
    cg::cluster_group cluster = cg::this_cluster();
    long row = blockIdx.x / BLOCKS, step = 256 * BLOCKS, first = cluster.block_rank() * 256 + threadIdx.x;
    x += row * cols;
    y += row * cols;
    float v[KEPT], greatest = -FLT_MAX, total = 0.0f;
#pragma unroll
    for (int k = 0; k < KEPT; k++) {
        v[k] = first + k * step < cols ? __ldcs(x + first + k * step) : -FLT_MAX;
        greatest = fmaxf(greatest, v[k]);
    }
    greatest = warp_max(greatest);
    if (threadIdx.x % 32 == 0) warps[0][threadIdx.x / 32] = greatest;
    __syncthreads();
    for (int w = 0; w < 8; w++) greatest = fmaxf(greatest, warps[0][w]);
#pragma unroll
    for (int k = 0; k < KEPT; k++)
        if (first + k * step < cols) total += expf(v[k] - greatest);
    total = warp_sum(total);
    if (threadIdx.x % 32 == 0) warps[1][threadIdx.x / 32] = total;
    __syncthreads();
    if (threadIdx.x == 0) {
        float sum = 0.0f;
        for (int w = 0; w < 8; w++) sum += warps[1][w];
        mine = make_float2(greatest, sum);
    }
    cluster.sync();
    float most = -FLT_MAX, sum = 0.0f;
    float2 theirs[BLOCKS];
    for (int b = 0; b < BLOCKS; b++) theirs[b] = *cluster.map_shared_rank(&mine, b), most = fmaxf(most, theirs[b].x);
    for (int b = 0; b < BLOCKS; b++) sum += theirs[b].y * expf(theirs[b].x - most);
    float scale = 1.0f / sum;
#pragma unroll
    for (int k = 0; k < KEPT; k++)
        if (first + k * step < cols) __stcs(y + first + k * step, expf(v[k] - most) * scale);
    cluster.sync(); /* nobody ends while another reads its shared memory */
}

__global__ void __launch_bounds__(128) by_warp(const float *__restrict__ x, float *__restrict__ y, long rows, long cols) {
    long row = (long)blockIdx.x * 4 + threadIdx.y;
    if (row >= rows) return;
    x += row * cols;
    y += row * cols;
    float greatest = -FLT_MAX, total = 0.0f;
    for (long c = threadIdx.x; c < cols; c += 32) greatest = fmaxf(greatest, x[c]);
    greatest = warp_max(greatest);
    for (long c = threadIdx.x; c < cols; c += 32) total += expf(x[c] - greatest);
    float scale = 1.0f / warp_sum(total);
    for (long c = threadIdx.x; c < cols; c += 32) y[c] = expf(x[c] - greatest) * scale;
}

static void softmax(const float *x, float *y, long rows, long cols, cudaStream_t stream) {
    if (cols >= 2048 && cols <= 256 * BLOCKS * KEPT) by_cluster<<<(unsigned)(rows * BLOCKS), 256, 0, stream>>>(x, y, cols);
    else by_warp<<<(unsigned)((rows + 3) / 4), dim3(32, 4), 0, stream>>>(x, y, rows, cols);
}
