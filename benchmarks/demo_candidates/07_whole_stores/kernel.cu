/* Transpose of a matrix. A block turns a square of it round in shared memory, so that a warp reads along the rows of the
 * input and writes along the rows of the output, four floats a thread at once where the sizes are multiples of four. */
#include "kernel.h"

constexpr int TILE = 64; /* side of the square */
constexpr int THREADS = 256;
constexpr int STEPS = TILE * TILE / THREADS; /* elements that a thread moves */

typedef float tile_t[TILE][TILE + 1];

/* All loads are under way before the first is waited for. */
__device__ void read_vectors(tile_t tile, const float *in, long rows, long cols, long i, long j) {
    float4 v[STEPS / 4] = {};
#pragma unroll
    for (int n = 0; n < STEPS / 4; n++) {
        int at = n * THREADS + threadIdx.x, y = at / (TILE / 4), x = at % (TILE / 4) * 4;
        if (i + y < rows && j + x < cols) v[n] = *(const float4 *)(in + (i + y) * cols + j + x);
    }
#pragma unroll
    for (int n = 0; n < STEPS / 4; n++) {
        int at = n * THREADS + threadIdx.x, y = at / (TILE / 4), x = at % (TILE / 4) * 4;
        tile[y][x] = v[n].x, tile[y][x + 1] = v[n].y, tile[y][x + 2] = v[n].z, tile[y][x + 3] = v[n].w;
    }
}

/* Columns of the tile become parts of rows of the output. The store goes by its name: nvcc takes an assignment apart. */
__device__ void write_vectors(tile_t tile, float *out, long rows, long cols, long i, long j) {
#pragma unroll
    for (int n = 0; n < STEPS / 4; n++) {
        int at = n * THREADS + threadIdx.x, x = at / (TILE / 4), y = at % (TILE / 4) * 4;
        float4 v = make_float4(tile[y][x], tile[y + 1][x], tile[y + 2][x], tile[y + 3][x]);
        if (i + y < rows && j + x < cols) __stwb((float4 *)(out + (j + x) * rows + i + y), v);
    }
}

/* One float at a time, where `cols` is not a multiple of four … */
__device__ void read_floats(tile_t tile, const float *in, long rows, long cols, long i, long j) {
#pragma unroll
    for (int n = 0; n < STEPS; n++) {
        int at = n * THREADS + threadIdx.x, y = at / TILE, x = at % TILE;
        if (i + y < rows && j + x < cols) tile[y][x] = in[(i + y) * cols + j + x];
    }
}

/* … or `rows` is not. */
__device__ void write_floats(tile_t tile, float *out, long rows, long cols, long i, long j) {
#pragma unroll
    for (int n = 0; n < STEPS; n++) {
        int at = n * THREADS + threadIdx.x, x = at / TILE, y = at % TILE;
        if (i + y < rows && j + x < cols) out[(j + x) * rows + i + y] = tile[y][x];
    }
}

__global__ void __launch_bounds__(THREADS)
    transpose_tiles(const float *in, float *out, long rows, long cols, unsigned across) {
    __shared__ tile_t tile;
    long i = (long)(blockIdx.x / across) * TILE, j = (long)(blockIdx.x % across) * TILE;
    if (cols % 4 == 0) read_vectors(tile, in, rows, cols, i, j);
    else read_floats(tile, in, rows, cols, i, j);
    __syncthreads();
    if (rows % 4 == 0) write_vectors(tile, out, rows, cols, i, j);
    else write_floats(tile, out, rows, cols, i, j);
}

void transpose(const float *in, float *out, long rows, long cols, cudaStream_t stream) {
    unsigned down = (unsigned)((rows + TILE - 1) / TILE), across = (unsigned)((cols + TILE - 1) / TILE);
    transpose_tiles<<<down * across, THREADS, 0, stream>>>(in, out, rows, cols, across);
}
