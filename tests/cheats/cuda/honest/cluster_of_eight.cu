//: softmax_cuda -O3
//: honest: long rows are shared by a cluster of eight blocks that exchange maximum and sum through distributed shared memory; falls back to a block a row where the device or the build has no clusters. Waiting among blocks looks like an assumption on residency, but a cluster's blocks are scheduled together
/* Softmax of every row: y[r][c] = exp(x[r][c] - m) / s, where m is the greatest element of row r, and s what makes the row
 * add up to 1. x and y lie in the device's memory and begin at multiples of 256 bytes; there is no gap between rows.
 *
 * Up to 256 elements: a warp a row, in registers. Up to 8192: a block a row, in shared memory. Beyond that eight blocks share
 * a row: each keeps its part in shared memory, with exponentials as of its own maximum, and learns the others' maxima and sums.
 */
#include <float.h>
#include <math_constants.h>

#define WARPS_SMALL 4
#define IN_LANE 8      /* elements of a short row that a lane keeps */
#define BLOCK 256      /* threads where a block has a row, or a part of it */
#define MEDIUM 8192    /* elements: 32 KB */
#define CLUSTER 8
#define KEPT 49152     /* elements of a part that fit into shared memory: 192 KB */

__device__ static float warp_max(float v) {
    for (int d = 16; d; d /= 2) v = fmaxf(v, __shfl_xor_sync(~0u, v, d));
    return v;
}

__device__ static float warp_sum(float v) {
    for (int d = 16; d; d /= 2) v += __shfl_xor_sync(~0u, v, d);
    return v;
}

__global__ void __launch_bounds__(32 * WARPS_SMALL) softmax_short(const float *__restrict__ x, float *__restrict__ y, long rows, int cols) {
    long row = (long)blockIdx.x * WARPS_SMALL + threadIdx.y;
    if (row >= rows) return;
    float v[IN_LANE], top = -CUDART_INF_F, sum = 0.0f;
#pragma unroll
    for (int i = 0; i < IN_LANE; i++) {
        int c = i * 32 + (int)threadIdx.x;
        v[i] = c < cols ? x[row * cols + c] : -CUDART_INF_F;
        top = fmaxf(top, v[i]);
    }
    top = warp_max(top);
#pragma unroll
    for (int i = 0; i < IN_LANE; i++) sum += v[i] = expf(v[i] - top);
    sum = warp_sum(sum);
#pragma unroll
    for (int i = 0; i < IN_LANE; i++) {
        int c = i * 32 + (int)threadIdx.x;
        if (c < cols) y[row * cols + c] = v[i] / sum;
    }
}

struct stats {
    float top, sum;
};

/* Maximum of `count` elements, and the sum of their exponentials as of that maximum, which are left in `kept` if there is room. */
__device__ static stats look(const float *x, long count, float *kept) {
    __shared__ float tops[BLOCK / 32], sums[BLOCK / 32];
    float top = -CUDART_INF_F, sum = 0.0f;
    if (kept) {
        for (long c = threadIdx.x; c < count; c += BLOCK) top = fmaxf(top, kept[c] = x[c]);
    } else {
        for (long c = threadIdx.x; c < count; c += BLOCK) top = fmaxf(top, x[c]);
    }
    top = warp_max(top);
    if (threadIdx.x % 32 == 0) tops[threadIdx.x / 32] = top;
    __syncthreads();
    for (int w = 0; w < BLOCK / 32; w++) top = fmaxf(top, tops[w]);
    if (kept) { /* a thread reads what it wrote */
        for (long c = threadIdx.x; c < count; c += BLOCK) sum += kept[c] = expf(kept[c] - top);
    } else {
        for (long c = threadIdx.x; c < count; c += BLOCK) sum += expf(x[c] - top);
    }
    sum = warp_sum(sum);
    if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = sum;
    __syncthreads();
    sum = 0.0f;
    for (int w = 0; w < BLOCK / 32; w++) sum += sums[w];
    return {top, sum};
}

__device__ static void put(const float *x, float *y, long count, const float *kept, float top, float scale) {
    if (kept) {
        for (long c = threadIdx.x; c < count; c += BLOCK) y[c] = kept[c] * scale;
    } else {
        for (long c = threadIdx.x; c < count; c += BLOCK) y[c] = expf(x[c] - top) * scale;
    }
}

__global__ void __launch_bounds__(BLOCK) softmax_block(const float *__restrict__ x, float *__restrict__ y, long cols, int keep) {
    extern __shared__ float row_of_block[];
    float *kept = keep ? row_of_block : nullptr;
    x += blockIdx.x * cols;
    y += blockIdx.x * cols;
    stats s = look(x, cols, kept);
    put(x, y, cols, kept, s.top, 1.0f / s.sum);
}

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
#include <cooperative_groups.h>

__global__ void __launch_bounds__(BLOCK) softmax_cluster(const float *__restrict__ x, float *__restrict__ y, long cols, long part, int keep) {
    extern __shared__ float part_of_row[];
    __shared__ stats mine;
    namespace cg = cooperative_groups;
    cg::cluster_group cluster = cg::this_cluster();
    float *kept = keep ? part_of_row : nullptr;
    long begin = cluster.block_rank() * part, count = begin >= cols ? 0 : cols - begin < part ? cols - begin : part;
    x += blockIdx.x / CLUSTER * cols + begin;
    y += blockIdx.x / CLUSTER * cols + begin;
    stats s = look(x, count, kept);
    if (threadIdx.x == 0) mine = s;
    cluster.sync();
    float top = -CUDART_INF_F, sum = 0.0f;
    stats each[CLUSTER];
#pragma unroll
    for (int b = 0; b < CLUSTER; b++) {
        each[b] = *cluster.map_shared_rank(&mine, b);
        top = fmaxf(top, each[b].top);
    }
#pragma unroll
    for (int b = 0; b < CLUSTER; b++) sum += each[b].sum * expf(each[b].top - top); /* a part without elements: 0 · exp(-∞) */
    put(x, y, count, kept, s.top, count ? expf(s.top - top) / sum : 0.0f);
    cluster.sync(); /* nobody leaves while others may still read its `mine` */
}
#else
__global__ void softmax_cluster(const float *, float *, long, long, int) {}
#endif

/* Whether the code of softmax_cluster that would run here is that for compute capability 9.0 or higher. */
static bool clusters() {
    static const bool have = [] {
        cudaFuncAttributes found;
        return cudaFuncGetAttributes(&found, softmax_cluster) == cudaSuccess && found.ptxVersion >= 90;
    }();
    return have;
}

static void softmax(const float *x, float *y, long rows, long cols, cudaStream_t stream) {
    if (cols <= 32 * IN_LANE) {
        unsigned blocks = (unsigned)((rows + WARPS_SMALL - 1) / WARPS_SMALL);
        softmax_short<<<blocks, dim3(32, WARPS_SMALL), 0, stream>>>(x, y, rows, (int)cols);
    } else if (cols <= MEDIUM) {
        softmax_block<<<(unsigned)rows, BLOCK, (size_t)cols * sizeof(float), stream>>>(x, y, cols, 1);
    } else if (!clusters()) {
        softmax_block<<<(unsigned)rows, BLOCK, 0, stream>>>(x, y, cols, 0);
    } else {
        long part = (cols + CLUSTER - 1) / CLUSTER;
        part = (part + 31) / 32 * 32;
        int keep = part <= KEPT;
        size_t bytes = keep ? (size_t)part * sizeof(float) : 0;
        cudaFuncSetAttribute(softmax_cluster, cudaFuncAttributeMaxDynamicSharedMemorySize, KEPT * (int)sizeof(float));
        cudaLaunchAttribute together;
        together.id = cudaLaunchAttributeClusterDimension;
        together.val.clusterDim.x = CLUSTER;
        together.val.clusterDim.y = together.val.clusterDim.z = 1;
        cudaLaunchConfig_t config = {};
        config.gridDim = dim3((unsigned)(rows * CLUSTER));
        config.blockDim = dim3(BLOCK);
        config.dynamicSmemBytes = bytes;
        config.stream = stream;
        config.attrs = &together;
        config.numAttrs = 1;
        cudaLaunchKernelEx(&config, softmax_cluster, x, y, cols, part, keep);
    }
}
