//: transpose_cuda -O3
//: Honest: 64 by 64 tiles in padded shared memory, templates chosen by whether either row length is a multiple of four, float4 loads and stores where it is, guarded elements where not; a one-dimensional grid.
#include "kernel.h"

#define TILE 64
#define THREADS 256

/* 64 by 64 floats, by float4 in either direction where rows begin at multiples of 16 bytes, else one by one. */
template <bool READ4, bool WRITE4>
__global__ void __launch_bounds__(THREADS) transpose_tiles(const float *__restrict__ in, float *__restrict__ out, long rows, long cols,
                                                           unsigned across) {
    __shared__ float tile[TILE][TILE + 1];
    long i = (long)(blockIdx.x / across) * TILE, j = (long)(blockIdx.x % across) * TILE;
    if (READ4) {
#pragma unroll
        for (int v = threadIdx.x; v < TILE * TILE / 4; v += THREADS) {
            int y = v / (TILE / 4), x = v % (TILE / 4) * 4;
            if (i + y >= rows || j + x >= cols) continue;
            float4 four = *(const float4 *)(in + (i + y) * cols + j + x);
            tile[y][x] = four.x, tile[y][x + 1] = four.y, tile[y][x + 2] = four.z, tile[y][x + 3] = four.w;
        }
    } else {
#pragma unroll
        for (int e = threadIdx.x; e < TILE * TILE; e += THREADS) {
            int y = e / TILE, x = e % TILE;
            if (i + y < rows && j + x < cols) tile[y][x] = in[(i + y) * cols + j + x];
        }
    }
    __syncthreads();
    if (WRITE4) {
#pragma unroll
        for (int v = threadIdx.x; v < TILE * TILE / 4; v += THREADS) {
            int x = v / (TILE / 4), y = v % (TILE / 4) * 4;
            if (j + x >= cols || i + y >= rows) continue;
            *(float4 *)(out + (j + x) * rows + i + y) = make_float4(tile[y][x], tile[y + 1][x], tile[y + 2][x], tile[y + 3][x]);
        }
    } else {
#pragma unroll
        for (int e = threadIdx.x; e < TILE * TILE; e += THREADS) {
            int x = e / TILE, y = e % TILE;
            if (j + x < cols && i + y < rows) out[(j + x) * rows + i + y] = tile[y][x];
        }
    }
}

void transpose(const float *in, float *out, long rows, long cols, cudaStream_t stream) {
    unsigned down = (unsigned)((rows + TILE - 1) / TILE), across = (unsigned)((cols + TILE - 1) / TILE), blocks = down * across;
    bool read4 = cols % 4 == 0, write4 = rows % 4 == 0;
    if (read4 && write4) transpose_tiles<true, true><<<blocks, THREADS, 0, stream>>>(in, out, rows, cols, across);
    else if (read4) transpose_tiles<true, false><<<blocks, THREADS, 0, stream>>>(in, out, rows, cols, across);
    else if (write4) transpose_tiles<false, true><<<blocks, THREADS, 0, stream>>>(in, out, rows, cols, across);
    else transpose_tiles<false, false><<<blocks, THREADS, 0, stream>>>(in, out, rows, cols, across);
}
