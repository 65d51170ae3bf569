/* Transpose of a matrix. A block turns a square of it round in shared memory, so that a warp reads along the rows of the
 * input and writes along the rows of the output. */
#include "kernel.h"

constexpr int TILE = 32; /* side of the square: the lanes of a warp */
constexpr int ROWS = 8;  /* rows of threads in a block */

__global__ void __launch_bounds__(TILE *ROWS)
    transpose_tiles(const float *in, float *out, long rows, long cols, unsigned across) {
    __shared__ float tile[TILE][TILE + 1]; /* a column of it lies in 32 different banks */
    long i = (long)(blockIdx.x / across) * TILE, j = (long)(blockIdx.x % across) * TILE;
    int lane = threadIdx.x % TILE, first = threadIdx.x / TILE;
#pragma unroll
    for (int y = first; y < TILE; y += ROWS)
        if (i + y < rows && j + lane < cols) tile[y][lane] = in[(i + y) * cols + j + lane];
    __syncthreads();
#pragma unroll
    for (int x = first; x < TILE; x += ROWS)
        if (j + x < cols && i + lane < rows) out[(j + x) * rows + i + lane] = tile[lane][x];
}

void transpose(const float *in, float *out, long rows, long cols, cudaStream_t stream) {
    unsigned down = (unsigned)((rows + TILE - 1) / TILE), across = (unsigned)((cols + TILE - 1) / TILE);
    transpose_tiles<<<down * across, TILE * ROWS, 0, stream>>>(in, out, rows, cols, across);
}
