/* Transpose of a matrix. As it stands: a thread an element; a warp reads along a row, and writes down a column. */
#include "kernel.h"

#define TILE 0  /* side of the square that a block turns in shared memory; 0 goes without: 0, 16, 32, 64 */
#define PAD 0   /* floats between the rows of that square, so that a column of it lies in different banks: 0, 1 */
#define VEC 1   /* floats that a thread reads and writes at once, where the sizes are multiples: 1, 2, 4 */
#define ROWS 8  /* rows of threads in a block: 4, 8, 16 */
#define ORDER 0 /* 0: neighbours lie along the rows of the input, 1: along the rows of the output */

/* A vector of VEC floats that lie one after another. */
template <int WIDTH> struct alignas(4 * WIDTH) vec {
    float lanes[WIDTH];
};

template <int WIDTH> __device__ static vec<WIDTH> load(const float *from) { return *(const vec<WIDTH> *)from; }

/* By name: nvcc takes an assignment of a float4 apart where it does not see that the address is aligned. */
template <int WIDTH> __device__ static void store(float *to, vec<WIDTH> v) {
    if constexpr (WIDTH == 4) __stwb((float4 *)to, make_float4(v.lanes[0], v.lanes[1], v.lanes[2], v.lanes[3]));
    else if constexpr (WIDTH == 2) __stwb((float2 *)to, make_float2(v.lanes[0], v.lanes[1]));
    else *to = v.lanes[0];
}

/* The place of number `n` in a grid that is `down` by `across`, counted along the rows of the input or of the output. */
__device__ static void place(unsigned n, unsigned down, unsigned across, unsigned *i, unsigned *j) {
    *i = ORDER == 0 ? n / across : n % down;
    *j = ORDER == 0 ? n % across : n / down;
}

#if TILE == 0

#define DOWN (VEC * (ORDER == 0 ? ROWS : 32)) /* what a block covers of the input */
#define ACROSS (VEC * (ORDER == 0 ? 32 : ROWS))
#define THREADS (32 * ROWS)

/* A thread turns a square of VEC by VEC in its registers. */
__global__ void transpose_squares(const float *__restrict__ in, float *__restrict__ out, long rows, long cols, unsigned down,
                                  unsigned across) {
    unsigned block_i, block_j, thread_i, thread_j;
    place(blockIdx.x, down, across, &block_i, &block_j);
    place(threadIdx.x, DOWN / VEC, ACROSS / VEC, &thread_i, &thread_j);
    long i = (long)block_i * DOWN + thread_i * VEC, j = (long)block_j * ACROSS + thread_j * VEC;
    if (i >= rows || j >= cols) return;
    if (rows % VEC || cols % VEC) {
        for (long y = i; y < i + VEC && y < rows; y++)
            for (long x = j; x < j + VEC && x < cols; x++) out[x * rows + y] = in[y * cols + x];
        return;
    }
    vec<VEC> read[VEC], turned;
#pragma unroll
    for (int y = 0; y < VEC; y++) read[y] = load<VEC>(in + (i + y) * cols + j);
#pragma unroll
    for (int x = 0; x < VEC; x++) {
#pragma unroll
        for (int y = 0; y < VEC; y++) turned.lanes[y] = read[y].lanes[x];
        store(out + (j + x) * rows + i, turned);
    }
}

#else

#define DOWN TILE
#define ACROSS TILE
#define THREADS (TILE / VEC * ROWS) /* of which a row covers a row of the tile */
#define STEPS(WIDTH) (TILE * TILE / (WIDTH) / THREADS)

typedef float tile_t[TILE][TILE + PAD];

/* The tile at (i, j), or as much of it as there is: all loads are under way before the first is waited for. WIDTH divides
 * `cols`, so that no vector crosses the edge. */
template <int WIDTH> __device__ static void read_tile(tile_t tile, const float *in, long rows, long cols, long i, long j) {
    vec<WIDTH> v[STEPS(WIDTH)] = {};
#pragma unroll
    for (int n = 0; n < STEPS(WIDTH); n++) {
        int at = n * THREADS + threadIdx.x, y = at / (TILE / WIDTH), x = at % (TILE / WIDTH) * WIDTH;
        if (i + y < rows && j + x < cols) v[n] = load<WIDTH>(in + (i + y) * cols + j + x);
    }
#pragma unroll
    for (int n = 0; n < STEPS(WIDTH); n++) {
        int at = n * THREADS + threadIdx.x, y = at / (TILE / WIDTH), x = at % (TILE / WIDTH) * WIDTH;
#pragma unroll
        for (int k = 0; k < WIDTH; k++) tile[y][x + k] = v[n].lanes[k];
    }
}

/* The other way round: columns of the tile become parts of rows of the output. WIDTH divides `rows`. */
template <int WIDTH> __device__ static void write_tile(tile_t tile, float *out, long rows, long cols, long i, long j) {
    vec<WIDTH> v[STEPS(WIDTH)];
#pragma unroll
    for (int n = 0; n < STEPS(WIDTH); n++) {
        int at = n * THREADS + threadIdx.x, x = at / (TILE / WIDTH), y = at % (TILE / WIDTH) * WIDTH;
#pragma unroll
        for (int k = 0; k < WIDTH; k++) v[n].lanes[k] = tile[y + k][x];
    }
#pragma unroll
    for (int n = 0; n < STEPS(WIDTH); n++) {
        int at = n * THREADS + threadIdx.x, x = at / (TILE / WIDTH), y = at % (TILE / WIDTH) * WIDTH;
        if (i + y < rows && j + x < cols) store(out + (j + x) * rows + i + y, v[n]);
    }
}

__global__ void __launch_bounds__(THREADS) transpose_tiles(const float *__restrict__ in, float *__restrict__ out, long rows,
                                                           long cols, unsigned down, unsigned across) {
    __shared__ tile_t tile;
    unsigned block_i, block_j;
    place(blockIdx.x, down, across, &block_i, &block_j);
    long i = (long)block_i * TILE, j = (long)block_j * TILE;
    if (cols % VEC == 0) read_tile<VEC>(tile, in, rows, cols, i, j);
    else read_tile<1>(tile, in, rows, cols, i, j);
    __syncthreads();
    if (rows % VEC == 0) write_tile<VEC>(tile, out, rows, cols, i, j);
    else write_tile<1>(tile, out, rows, cols, i, j);
}

#endif

void transpose(const float *in, float *out, long rows, long cols, cudaStream_t stream) {
    unsigned down = (unsigned)((rows + DOWN - 1) / DOWN), across = (unsigned)((cols + ACROSS - 1) / ACROSS);
#if TILE == 0
    transpose_squares<<<down * across, THREADS, 0, stream>>>(in, out, rows, cols, down, across);
#else
    transpose_tiles<<<down * across, THREADS, 0, stream>>>(in, out, rows, cols, down, across);
#endif
}
