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

constexpr int SECTOR = 8; /* floats in the 32 bytes that memory is written by */

struct alignas(16) four {
    float lanes[4];
};

/* Four floats of the `size` that there are, or as many as are left. */
__device__ four load(const float *in, long from, long size) {
    if (from + 4 <= size) return *(const four *)(in + from);
    four v = {};
    for (int k = 0; from + k < size; k++) v.lanes[k] = in[from + k];
    return v;
}

/* Where `rows` is not a multiple of SECTOR, the rows of the output begin anywhere in a sector. Each block then begins a row at
 * a sector's beginning, up to SECTOR - 1 elements before its tile, so that no sector is written by two of them. It reads that
 * many rows more; and of a row the aligned groups of four that hold its part. */
__global__ void __launch_bounds__(THREADS)
    transpose_sectors(const float *in, float *out, long rows, long cols, unsigned across) {
    constexpr int TALL = TILE + SECTOR, GROUPS = TILE / 4 + 1, READS = (TALL * GROUPS + THREADS - 1) / THREADS;
    __shared__ float tile[TALL][TILE + 1];
    long i = (long)(blockIdx.x / across) * TILE, j = (long)(blockIdx.x % across) * TILE;
    four v[READS] = {};
#pragma unroll
    for (int n = 0; n < READS; n++) {
        int at = n * THREADS + threadIdx.x, y = at / GROUPS;
        long row = i - SECTOR + y, from = (row * cols + j) / 4 * 4 + at % GROUPS * 4;
        if (y < TALL && row >= 0 && row < rows && from < (row + 1) * cols) v[n] = load(in, from, rows * cols);
    }
#pragma unroll
    for (int n = 0; n < READS; n++) {
        int at = n * THREADS + threadIdx.x, y = at / GROUPS;
        int x = at % GROUPS * 4 - (int)(((i - SECTOR + y) * cols + j) & 3);
#pragma unroll
        for (int k = 0; k < 4; k++)
            if (y < TALL && x + k >= 0 && x + k < TILE) tile[y][x + k] = v[n].lanes[k];
    }
    __syncthreads();
#pragma unroll
    for (int n = 0; n < STEPS; n++) {
        int at = n * THREADS + threadIdx.x, x = at / TILE;
        long begin = (j + x) * rows;
        int y = at % TILE - (int)(begin % SECTOR);
        if (j + x < cols && i + y >= 0 && i + y < rows) out[begin + i + y] = tile[SECTOR + y][x];
    }
}

void transpose(const float *in, float *out, long rows, long cols, cudaStream_t stream) {
    bool whole = rows % SECTOR == 0;
    unsigned across = (unsigned)((cols + TILE - 1) / TILE);
    unsigned down = (unsigned)((rows + TILE - 1 + (whole ? 0 : SECTOR - 1)) / TILE);
    if (whole) transpose_tiles<<<down * across, THREADS, 0, stream>>>(in, out, rows, cols, across);
    else transpose_sectors<<<down * across, THREADS, 0, stream>>>(in, out, rows, cols, across);
}
