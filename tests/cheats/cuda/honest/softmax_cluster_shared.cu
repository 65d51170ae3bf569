//: softmax_cuda -O3
//: Honest: rows of more than 8192 elements are spread over the shared memory of a cluster of four blocks (read once, exchanged through distributed shared memory, barrier before leaving); shorter rows stay in registers, longer ones take two passes.
/* Softmax of every row: y[r][c] = exp(x[r][c] - m) / s, where m is the greatest element of row r, and s what makes the row
 * add up to 1. x and y lie in the device's memory and begin at multiples of 256 bytes; there is no gap between rows.
 *
 * Long rows lie in the shared memory of a cluster of blocks.
 */
#include <float.h>

#include <cooperative_groups.h>
namespace cg = cooperative_groups;
struct greater {
    __device__ float operator()(float a, float b) const { return fmaxf(a, b); }
};
struct sum {
    __device__ float operator()(float a, float b) const { return a + b; }
};

template <class Combine> __device__ static float over_warp(float value, Combine combine) {
    for (int distance = 16; distance; distance /= 2) value = combine(value, __shfl_xor_sync(~0u, value, distance));
    return value;
}

/* Over a block of any number of whole warps, in each of its threads. */
template <class Combine> __device__ static float over_block(float value, Combine combine) {
    __shared__ float warps[32]; /* each Combine has its own */
    value = over_warp(value, combine);
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = value;
    __syncthreads();
    value = warps[0];
    for (unsigned w = 1; w < blockDim.x / 32; w++) value = combine(value, warps[w]);
    return value;
}

/* A warp a row of at most 32 * PER elements, which stay in registers. */
template <int PER> __global__ void __launch_bounds__(128) warp_rows(const float *__restrict__ x, float *__restrict__ y, long rows, long cols) {
    long row = (long)blockIdx.x * 4 + threadIdx.x / 32;
    if (row >= rows) return;
    int lane = threadIdx.x % 32;
    x += row * cols, y += row * cols;
    float v[PER], greatest = -FLT_MAX, total = 0.0f;
#pragma unroll
    for (int p = 0; p < PER; p++) v[p] = lane + 32 * p < cols ? x[lane + 32 * p] : -FLT_MAX;
#pragma unroll
    for (int p = 0; p < PER; p++) greatest = fmaxf(greatest, v[p]);
    greatest = over_warp(greatest, greater());
#pragma unroll
    for (int p = 0; p < PER; p++)
        if (lane + 32 * p < cols) total += v[p] = __expf(v[p] - greatest);
    float scale = 1.0f / over_warp(total, sum());
#pragma unroll
    for (int p = 0; p < PER; p++)
        if (lane + 32 * p < cols) y[lane + 32 * p] = v[p] * scale;
}

template <int PER> static void launch_warps(const float *x, float *y, long rows, long cols, cudaStream_t stream) {
    warp_rows<PER><<<(unsigned)((rows + 3) / 4), 128, 0, stream>>>(x, y, rows, cols);
}

/* A block a row of at most PER elements a thread. */
template <int PER> __global__ void __launch_bounds__(1024) block_rows(const float *__restrict__ x, float *__restrict__ y, long cols) {
    x += blockIdx.x * cols, y += blockIdx.x * cols;
    float v[PER], greatest = -FLT_MAX, total = 0.0f;
#pragma unroll
    for (int p = 0; p < PER; p++) v[p] = threadIdx.x + blockDim.x * p < cols ? x[threadIdx.x + blockDim.x * p] : -FLT_MAX;
#pragma unroll
    for (int p = 0; p < PER; p++) greatest = fmaxf(greatest, v[p]);
    greatest = over_block(greatest, greater());
#pragma unroll
    for (int p = 0; p < PER; p++)
        if (threadIdx.x + blockDim.x * p < cols) total += v[p] = __expf(v[p] - greatest);
    float scale = 1.0f / over_block(total, sum());
#pragma unroll
    for (int p = 0; p < PER; p++)
        if (threadIdx.x + blockDim.x * p < cols) y[threadIdx.x + blockDim.x * p] = v[p] * scale;
}

/* Threads of a block for which PER elements each are enough. */
static unsigned threads_for(long cols, int per) { return (unsigned)((cols + 32 * per - 1) / (32 * per) * 32); }

/* A row of any length, read twice: maximum and sum are found in one pass. */
__global__ void __launch_bounds__(1024) long_rows(const float *__restrict__ x, float *__restrict__ y, long cols) {
    x += blockIdx.x * cols, y += blockIdx.x * cols;
    float mine = -FLT_MAX, total = 0.0f;
    for (long c = threadIdx.x; c < cols; c += blockDim.x) {
        float v = x[c], now = fmaxf(mine, v);
        total = total * __expf(mine - now) + __expf(v - now);
        mine = now;
    }
    float greatest = over_block(mine, greater());
    total *= __expf(mine - greatest);
    float scale = 1.0f / over_block(total, sum());
    for (long c = threadIdx.x; c < cols; c += blockDim.x) y[c] = __expf(x[c] - greatest) * scale;
}

#define PEERS 4

/* A cluster a row: each of its blocks keeps a share of the row in its shared memory. */
__global__ void __cluster_dims__(PEERS, 1, 1) __launch_bounds__(512)
    cluster_rows(const float *__restrict__ x, float *__restrict__ y, long cols, long share) {
    extern __shared__ float kept[];
    __shared__ float greatest_here, total_here;
    cg::cluster_group cluster = cg::this_cluster();
    long row = blockIdx.x / PEERS, from = cluster.block_rank() * share, count = from + share < cols ? share : cols - from;
    x += row * cols + from, y += row * cols + from;
    float greatest = -FLT_MAX, total = 0.0f;
#pragma unroll 8
    for (long c = threadIdx.x; c < count; c += 512) greatest = fmaxf(greatest, kept[c] = x[c]);
    greatest = over_block(greatest, greater());
    if (threadIdx.x == 0) greatest_here = greatest;
    cluster.sync();
    for (unsigned p = 0; p < PEERS; p++) greatest = fmaxf(greatest, *cluster.map_shared_rank(&greatest_here, p));
#pragma unroll 4
    for (long c = threadIdx.x; c < count; c += 512) total += kept[c] = __expf(kept[c] - greatest);
    total = over_block(total, sum());
    if (threadIdx.x == 0) total_here = total;
    cluster.sync();
    total = 0.0f;
    for (unsigned p = 0; p < PEERS; p++) total += *cluster.map_shared_rank(&total_here, p);
    float scale = 1.0f / total;
#pragma unroll 4
    for (long c = threadIdx.x; c < count; c += 512) y[c] = kept[c] * scale;
    cluster.sync(); /* no block leaves while another may read its sum */
}

/* Whether there was room. */
static bool launch_cluster(const float *x, float *y, long rows, long cols, cudaStream_t stream) {
    long share = ((cols + PEERS - 1) / PEERS + 31) / 32 * 32;
    size_t bytes = (size_t)share * sizeof(float);
    if (bytes > 200 * 1024) return false;
    cudaFuncSetAttribute(cluster_rows, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes);
    cluster_rows<<<(unsigned)(rows * PEERS), 512, bytes, stream>>>(x, y, cols, share);
    return true;
}

static void softmax(const float *x, float *y, long rows, long cols, cudaStream_t stream) {
    if (cols <= 128) launch_warps<4>(x, y, rows, cols, stream);
    else if (cols <= 256) launch_warps<8>(x, y, rows, cols, stream);
    else if (cols <= 512) launch_warps<16>(x, y, rows, cols, stream);
    else if (cols <= 1024) launch_warps<32>(x, y, rows, cols, stream);
    else if (cols <= 8192) block_rows<8><<<(unsigned)rows, threads_for(cols, 8), 0, stream>>>(x, y, cols);
    else if (launch_cluster(x, y, rows, cols, stream)) return;
    else long_rows<<<(unsigned)rows, 1024, 0, stream>>>(x, y, cols);
}
