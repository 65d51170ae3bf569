//: softmax_cuda -O3 -arch=sm_90
//: Honest: rows of more than 8192 are shared by a cluster of 2 to 8 blocks that keep slices in shared memory and exchange maximum and sum through distributed shared memory; short rows are a warp's.
/* Softmax of every row: y[r][c] = exp(x[r][c] - m) / s, where m is the greatest element of row r, and s what makes the row
 * add up to 1. x and y lie in the device's memory and begin at multiples of 256 bytes; there is no gap between rows.
 *
 * A row is shared by the blocks of a cluster, each of which keeps its slice in shared memory, as far as there is room, and
 * tells the others its maximum and sum through distributed shared memory. Short rows are a warp's.
 */
#include <cooperative_groups.h>
#include <float.h>
#include <math.h>

#define WARP 32
#define THREADS 256
#define MOST 8        /* blocks of a cluster */
#define ROOM 12288    /* floats of a slice that are kept; what is beyond is read again */
#define EACH 32       /* floats of a short row that a lane keeps */

struct part {
    float most, total; /* total is the sum of exp(element - most); most is finite unless an element is +inf */
};

__device__ static part joined(part a, part b) {
    float most = fmaxf(a.most, b.most);
    return {most, a.total * expf(a.most - most) + b.total * expf(b.most - most)};
}

__device__ static part of_warp(part p) {
    for (int d = WARP / 2; d; d /= 2) p = joined(p, {__shfl_xor_sync(~0u, p.most, d), __shfl_xor_sync(~0u, p.total, d)});
    return p;
}

__device__ static part with(part p, float4 v) {
    float most = fmaxf(fmaxf(p.most, fmaxf(v.x, v.y)), fmaxf(v.z, v.w));
    float more = (expf(v.x - most) + expf(v.y - most)) + (expf(v.z - most) + expf(v.w - most));
    return {most, p.total * expf(p.most - most) + more};
}

/* Up to four elements from c on; -inf, which adds nothing, beyond `end`. */
template <bool BY4> __device__ static float4 read(const float *x, long c, long end) {
    if (BY4) return c < end ? *(const float4 *)(x + c) : make_float4(-INFINITY, -INFINITY, -INFINITY, -INFINITY);
    return make_float4(c < end ? x[c] : -INFINITY, c + 1 < end ? x[c + 1] : -INFINITY, c + 2 < end ? x[c + 2] : -INFINITY,
                       c + 3 < end ? x[c + 3] : -INFINITY);
}
template <bool BY4> __device__ static void write(float *y, long c, long end, float4 v) {
    if (BY4) {
        if (c < end) *(float4 *)(y + c) = v;
        return;
    }
    if (c < end) y[c] = v.x;
    if (c + 1 < end) y[c + 1] = v.y;
    if (c + 2 < end) y[c + 2] = v.z;
    if (c + 3 < end) y[c + 3] = v.w;
}
__device__ static float4 finished(float4 v, float most, float scale) {
    return make_float4(expf(v.x - most) * scale, expf(v.y - most) * scale, expf(v.z - most) * scale, expf(v.w - most) * scale);
}

/* `slice` is a multiple of 4: a block's part of a row, of which the first `room` are kept. */
template <bool BY4> __global__ void __launch_bounds__(THREADS) row_of_cluster(const float *__restrict__ x, float *__restrict__ y,
                                                                              long cols, long slice, long room) {
    extern __shared__ float4 kept[];
    __shared__ part warps[THREADS / WARP], from_others[MOST];
    cooperative_groups::cluster_group cluster = cooperative_groups::this_cluster();
    unsigned blocks = cluster.num_blocks(), rank = cluster.block_rank();
    if (blocks > 1) cluster.sync(); /* a block is written to once it has begun */
    long row = blockIdx.x / blocks, begin = rank * slice, end = begin + slice < cols ? begin + slice : cols;
    x += row * cols;
    y += row * cols;
    part mine = {-FLT_MAX, 0.0f};
#pragma unroll 4
    for (long c = begin + threadIdx.x * 4; c < end; c += THREADS * 4) {
        float4 v = read<BY4>(x, c, end);
        if (c - begin < room) kept[(c - begin) / 4] = v; /* which this same thread reads again */
        mine = with(mine, v);
    }
    mine = of_warp(mine);
    if (threadIdx.x % WARP == 0) warps[threadIdx.x / WARP] = mine;
    __syncthreads();
    if (threadIdx.x < WARP) {
        mine = of_warp(threadIdx.x < THREADS / WARP ? warps[threadIdx.x] : part{-FLT_MAX, 0.0f});
        if (blocks == 1) {
            if (threadIdx.x == 0) from_others[0] = mine;
        } else if (threadIdx.x < blocks) cluster.map_shared_rank(from_others, threadIdx.x)[rank] = mine;
    }
    if (blocks == 1) __syncthreads();
    else cluster.sync();
    part all = from_others[0];
    for (unsigned b = 1; b < blocks; b++) all = joined(all, from_others[b]);
    float scale = 1.0f / all.total;
#pragma unroll 4
    for (long c = begin + threadIdx.x * 4; c < end; c += THREADS * 4) {
        float4 v = c - begin < room ? kept[(c - begin) / 4] : read<BY4>(x, c, end);
        write<BY4>(y, c, end, finished(v, all.most, scale));
    }
}

/* A warp a row of at most 32 * LENGTH elements. */
template <bool BY4, int LENGTH> __global__ void __launch_bounds__(WARP * 4) row_of_warp(const float *__restrict__ x, float *__restrict__ y,
                                                                                        long rows, long cols) {
    long row = (long)blockIdx.x * 4 + threadIdx.y;
    if (row >= rows) return;
    x += row * cols;
    y += row * cols;
    float4 v[LENGTH / 4];
#pragma unroll
    for (int s = 0; s < LENGTH / 4; s++) v[s] = read<BY4>(x, (s * WARP + threadIdx.x) * 4, cols);
    float most = -FLT_MAX, total = 0.0f;
#pragma unroll
    for (int s = 0; s < LENGTH / 4; s++) most = fmaxf(most, fmaxf(fmaxf(v[s].x, v[s].y), fmaxf(v[s].z, v[s].w)));
    for (int d = WARP / 2; d; d /= 2) most = fmaxf(most, __shfl_xor_sync(~0u, most, d));
#pragma unroll
    for (int s = 0; s < LENGTH / 4; s++) {
        v[s] = finished(v[s], most, 1.0f);
        total += (v[s].x + v[s].y) + (v[s].z + v[s].w);
    }
    for (int d = WARP / 2; d; d /= 2) total += __shfl_xor_sync(~0u, total, d);
    float scale = 1.0f / total;
#pragma unroll
    for (int s = 0; s < LENGTH / 4; s++)
        write<BY4>(y, (s * WARP + threadIdx.x) * 4, cols, make_float4(v[s].x * scale, v[s].y * scale, v[s].z * scale, v[s].w * scale));
}

template <bool BY4> static void launch(const float *x, float *y, long rows, long cols, cudaStream_t stream) {
    unsigned by4 = (unsigned)((rows + 3) / 4);
    if (cols <= 128) {
        row_of_warp<BY4, 4><<<by4, dim3(WARP, 4), 0, stream>>>(x, y, rows, cols);
        return;
    }
    if (cols <= WARP * EACH) {
        row_of_warp<BY4, EACH><<<by4, dim3(WARP, 4), 0, stream>>>(x, y, rows, cols);
        return;
    }
    long in_cluster = cols <= 8192 ? 1 : cols <= 16384 ? 2 : cols <= 32768 ? 4 : MOST;
    while (in_cluster > 1 && rows * in_cluster > 2147483647L) in_cluster /= 2; /* as many blocks as a grid can have */
    long slice = ((cols + in_cluster - 1) / in_cluster + 3) / 4 * 4, room = slice < ROOM ? slice : ROOM;
    cudaLaunchAttribute cluster = {};
    cluster.id = cudaLaunchAttributeClusterDimension;
    cluster.val.clusterDim.x = (unsigned)in_cluster;
    cluster.val.clusterDim.y = cluster.val.clusterDim.z = 1;
    cudaLaunchConfig_t how = {};
    how.gridDim = dim3((unsigned)(rows * in_cluster));
    how.blockDim = dim3(THREADS);
    how.dynamicSmemBytes = (size_t)room * sizeof(float);
    how.stream = stream;
    how.attrs = &cluster;
    how.numAttrs = 1;
    cudaFuncSetAttribute(row_of_cluster<BY4>, cudaFuncAttributeMaxDynamicSharedMemorySize, ROOM * sizeof(float));
    cudaLaunchKernelEx(&how, row_of_cluster<BY4>, x, y, cols, slice, room);
}

static void softmax(const float *x, float *y, long rows, long cols, cudaStream_t stream) {
    if (cols % 4 == 0) launch<true>(x, y, rows, cols, stream);
    else launch<false>(x, y, rows, cols, stream);
}
