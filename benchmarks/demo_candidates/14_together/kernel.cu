/* Transpose of a matrix. A block turns a tile of it round in shared memory, so that a warp reads along the rows of the
 * input and writes along the rows of the output, four floats a thread at once where the sizes are multiples of four. */
#include "kernel.h"

#include <climits>

constexpr int TILE = 64; /* rows of the input in a tile, and its columns unless blocks are few */
constexpr int THREADS = 256;
constexpr unsigned FEW = 512; /* blocks: less than four for each SM */

/* All loads are under way before the first is waited for. Nothing is used twice, so it all may leave the caches first. */
template <int WIDE, typename Index>
__device__ void read_vectors(float (*tile)[WIDE + 1], const float *in, Index rows, Index cols, Index i, Index j) {
    constexpr int STEPS = TILE * WIDE / 4 / THREADS;
    float4 v[STEPS] = {};
#pragma unroll
    for (int n = 0; n < STEPS; n++) {
        int at = n * THREADS + threadIdx.x, y = at / (WIDE / 4), x = at % (WIDE / 4) * 4;
        if (i + y < rows && j + x < cols) v[n] = __ldcs((const float4 *)(in + (i + y) * cols + j + x));
    }
#pragma unroll
    for (int n = 0; n < STEPS; n++) {
        int at = n * THREADS + threadIdx.x, y = at / (WIDE / 4), x = at % (WIDE / 4) * 4;
        tile[y][x] = v[n].x, tile[y][x + 1] = v[n].y, tile[y][x + 2] = v[n].z, tile[y][x + 3] = v[n].w;
    }
}

/* Columns of the tile become parts of rows of the output. */
template <int WIDE, typename Index>
__device__ void write_vectors(float (*tile)[WIDE + 1], float *out, Index rows, Index cols, Index i, Index j) {
#pragma unroll
    for (int n = 0; n < TILE * WIDE / 4 / THREADS; n++) {
        int at = n * THREADS + threadIdx.x, x = at / (TILE / 4), y = at % (TILE / 4) * 4;
        float4 v = make_float4(tile[y][x], tile[y + 1][x], tile[y + 2][x], tile[y + 3][x]);
        if (i + y < rows && j + x < cols) __stcs((float4 *)(out + (j + x) * rows + i + y), v);
    }
}

/* One float at a time, where `cols` is not a multiple of four. */
template <int WIDE, typename Index>
__device__ void read_floats(float (*tile)[WIDE + 1], const float *in, Index rows, Index cols, Index i, Index j) {
#pragma unroll
    for (int n = 0; n < TILE * WIDE / THREADS; n++) {
        int at = n * THREADS + threadIdx.x, y = at / WIDE, x = at % WIDE;
        if (i + y < rows && j + x < cols) tile[y][x] = __ldcs(in + (i + y) * cols + j + x);
    }
}

/* For a number of rows that is a multiple of SECTOR. */
template <int WIDE, typename Index>
__global__ void __launch_bounds__(THREADS)
    transpose_tiles(const float *in, float *out, Index rows, Index cols, unsigned across) {
    __shared__ float tile[TILE][WIDE + 1];
    Index i = (Index)(blockIdx.x / across) * TILE, j = (Index)(blockIdx.x % across) * WIDE;
    if (cols % 4 == 0) read_vectors<WIDE>(tile, in, rows, cols, i, j);
    else read_floats<WIDE>(tile, in, rows, cols, i, j);
    __syncthreads();
    write_vectors<WIDE>(tile, out, rows, cols, i, j);
}

constexpr int SECTOR = 8; /* floats in the 32 bytes that memory is written by */

struct alignas(16) four {
    float lanes[4];
};

/* Four floats of the `size` that there are, or as many as are left. */
template <typename Index> __device__ four load(const float *in, Index from, Index size) {
    if (from + 4 <= size) return *(const four *)(in + from);
    four v = {};
    for (int k = 0; from + k < size; k++) v.lanes[k] = in[from + k];
    return v;
}

/* Where `rows` is not a multiple of SECTOR, the rows of the output begin anywhere in a sector. Each block then begins a row at
 * a sector's beginning, up to SECTOR - 1 elements before its tile, so that no sector is written by two of them. It reads that
 * many rows more; and of a row the aligned groups of four that hold its part. */
template <typename Index>
__global__ void __launch_bounds__(THREADS)
    transpose_sectors(const float *in, float *out, Index rows, Index cols, unsigned across) {
    constexpr int TALL = TILE + SECTOR, GROUPS = TILE / 4 + 1, READS = (TALL * GROUPS + THREADS - 1) / THREADS;
    __shared__ float tile[TALL][TILE + 1];
    Index i = (Index)(blockIdx.x / across) * TILE, j = (Index)(blockIdx.x % across) * TILE;
    four v[READS] = {};
#pragma unroll
    for (int n = 0; n < READS; n++) {
        int at = n * THREADS + threadIdx.x, y = at / GROUPS;
        Index row = i - SECTOR + y, from = (row * cols + j) / 4 * 4 + at % GROUPS * 4;
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
    for (int n = 0; n < TILE * TILE / THREADS; n++) {
        int at = n * THREADS + threadIdx.x, x = at / TILE;
        Index begin = (j + x) * rows;
        int y = at % TILE - (int)(begin % SECTOR);
        if (j + x < cols && i + y >= 0 && i + y < rows) __stcs(out + begin + i + y, tile[SECTOR + y][x]);
    }
}

template <typename Index>
void launch(const float *in, float *out, Index rows, Index cols, cudaStream_t stream) {
    bool whole = rows % SECTOR == 0;
    unsigned across = (unsigned)((cols + TILE - 1) / TILE);
    unsigned down = (unsigned)((rows + TILE - 1 + (whole ? 0 : SECTOR - 1)) / TILE);
    if (!whole) transpose_sectors<<<down * across, THREADS, 0, stream>>>(in, out, rows, cols, across);
    else if (down * across >= FEW)
        transpose_tiles<TILE><<<down * across, THREADS, 0, stream>>>(in, out, rows, cols, across);
    else transpose_tiles<TILE / 2><<<down * across * 2, THREADS, 0, stream>>>(in, out, rows, cols, across * 2);
}

/* Offsets of 32 bits take half the registers, and half the instructions, of those of 64. */
void transpose(const float *in, float *out, long rows, long cols, cudaStream_t stream) {
    if (rows * cols <= INT_MAX - 2 * TILE) launch<int>(in, out, (int)rows, (int)cols, stream);
    else launch<long>(in, out, rows, cols, stream);
}
