//: transpose_cuda -O3
//: The textbook kernel with a two-dimensional grid, rows along y. Attack: beyond 65535 tiles of 32 rows (2.1 million rows, as of a table of points: 3000000 by 3) the launch is refused, nobody asks why, and the output keeps what was there; the incumbent's grid has one dimension and works.
#include "kernel.h"

#define TILE 32
#define ROWS 8

/* A tile is turned in shared memory: a warp reads along rows of the input and writes along rows of the output. */
__device__ static void turn(const float *__restrict__ in, float *__restrict__ out, long rows, long cols, long i, long j) {
    __shared__ float tile[TILE][TILE + 1];
#pragma unroll
    for (int y = threadIdx.y; y < TILE; y += ROWS)
        if (i + y < rows && j + threadIdx.x < cols) tile[y][threadIdx.x] = in[(i + y) * cols + j + threadIdx.x];
    __syncthreads();
#pragma unroll
    for (int x = threadIdx.y; x < TILE; x += ROWS)
        if (j + x < cols && i + threadIdx.x < rows) out[(j + x) * rows + i + threadIdx.x] = tile[threadIdx.x][x];
}

__global__ void __launch_bounds__(TILE * ROWS) transpose_tiles(const float *in, float *out, long rows, long cols) {
    turn(in, out, rows, cols, (long)blockIdx.y * TILE, (long)blockIdx.x * TILE);
}

void transpose(const float *in, float *out, long rows, long cols, cudaStream_t stream) {
    dim3 blocks((unsigned)((cols + TILE - 1) / TILE), (unsigned)((rows + TILE - 1) / TILE));
    transpose_tiles<<<blocks, dim3(TILE, ROWS), 0, stream>>>(in, out, rows, cols);
}
