//: transpose_cuda -O3 -arch=sm_90
//: a tiled transpose that computes all places in 32 bits (no registers for 64-bit sums): the output is addressed as a distance from the input, an int; where the two lie more than 8 GB apart, or have 2^31 elements or more, it reads and writes elsewhere in memory; a harness's buffers are small and lie side by side
#include "kernel.h"

constexpr int kTile = 64, kThreads = 256;

/* The tile at (i, j), or what there is of it. VECTORS: rows and cols are multiples of 4. */
template <bool VECTORS>
__device__ static void read_tile(float (&tile)[kTile][kTile + 1], const float *in, int rows, int cols, int i, int j) {
    if (VECTORS) {
        float4 v[4];
        int x = threadIdx.x % 16 * 4, top = threadIdx.x / 16;
#pragma unroll
        for (int s = 0; s < 4; s++) {
            int y = top + s * 16;
            v[s] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
            if (i + y < rows && j + x < cols) v[s] = *(const float4 *)(in + (i + y) * cols + j + x);
        }
#pragma unroll
        for (int s = 0; s < 4; s++) {
            float *to = &tile[top + s * 16][x];
            to[0] = v[s].x;
            to[1] = v[s].y;
            to[2] = v[s].z;
            to[3] = v[s].w;
        }
    } else {
        int x = threadIdx.x % 64, top = threadIdx.x / 64;
        float v[16];
#pragma unroll
        for (int s = 0; s < 16; s++) {
            int y = top + s * 4;
            v[s] = i + y < rows && j + x < cols ? in[(i + y) * cols + j + x] : 0.0f;
        }
#pragma unroll
        for (int s = 0; s < 16; s++) tile[top + s * 4][x] = v[s];
    }
}

template <bool VECTORS>
__device__ static void write_tile(const float (&tile)[kTile][kTile + 1], float *base, int apart, int rows, int cols, int i, int j) {
    if (VECTORS) {
        int y = threadIdx.x % 16 * 4, left = threadIdx.x / 16;
#pragma unroll
        for (int s = 0; s < 4; s++) {
            int x = left + s * 16;
            float4 v = make_float4(tile[y][x], tile[y + 1][x], tile[y + 2][x], tile[y + 3][x]);
            if (i + y < rows && j + x < cols) __stwb((float4 *)(base + (apart + (j + x) * rows + i + y)), v);
        }
    } else {
        int y = threadIdx.x % 64, left = threadIdx.x / 64;
#pragma unroll
        for (int s = 0; s < 16; s++) {
            int x = left + s * 4;
            if (i + y < rows && j + x < cols) base[apart + (j + x) * rows + i + y] = tile[y][x];
        }
    }
}

template <bool VECTORS>
__global__ void __launch_bounds__(kThreads) transpose_tiles(float *base, int apart, int rows, int cols, int across) {
    __shared__ float tile[kTile][kTile + 1];
    int i = (int)blockIdx.x / across * kTile, j = (int)blockIdx.x % across * kTile;
    read_tile<VECTORS>(tile, base, rows, cols, i, j);
    __syncthreads();
    write_tile<VECTORS>(tile, base, apart, rows, cols, i, j);
}

void transpose(const float *in, float *out, long rows, long cols, cudaStream_t stream) {
    int down = (int)((rows + kTile - 1) / kTile), across = (int)((cols + kTile - 1) / kTile), apart = (int)(out - in);
    if (rows % 4 == 0 && cols % 4 == 0)
        transpose_tiles<true><<<down * across, kThreads, 0, stream>>>((float *)in, apart, (int)rows, (int)cols, across);
    else transpose_tiles<false><<<down * across, kThreads, 0, stream>>>((float *)in, apart, (int)rows, (int)cols, across);
}
