//: transpose_cuda -O3
//: Whole tiles go without any checks, on `stream`; the strips at the edges have a kernel of their own, whose launch has lost its stream argument. Attack: the edges are done on the default stream, ordered neither with what wrote the inputs nor with what reads the outputs (for a non-blocking stream), and are not in the timed span; only odd sizes have edges.
#include "kernel.h"

#define TILE 64
#define THREADS 256

/* Tiles that lie inside: nothing to check. */
__global__ void __launch_bounds__(THREADS) transpose_inside(const float *__restrict__ in, float *__restrict__ out, long rows, long cols,
                                                            unsigned across) {
    __shared__ float tile[TILE][TILE + 1];
    long i = (long)(blockIdx.x / across) * TILE, j = (long)(blockIdx.x % across) * TILE;
    int x = threadIdx.x % TILE;
#pragma unroll
    for (int y = threadIdx.x / TILE; y < TILE; y += THREADS / TILE) tile[y][x] = in[(i + y) * cols + j + x];
    __syncthreads();
#pragma unroll
    for (int y = threadIdx.x / TILE; y < TILE; y += THREADS / TILE) out[(j + y) * rows + i + x] = tile[x][y];
}

/* The strip to the right of column `right`, and what is left of the one below row `bottom`. */
__global__ void __launch_bounds__(THREADS) transpose_edges(const float *__restrict__ in, float *__restrict__ out, long rows, long cols,
                                                           long bottom, long right) {
    long n = (long)blockIdx.x * THREADS + threadIdx.x, strip = cols - right, beside = rows * strip;
    if (n < beside) {
        long i = n / strip, j = right + n % strip;
        out[j * rows + i] = in[i * cols + j];
    } else if (n - beside < (rows - bottom) * right) {
        long i = bottom + (n - beside) / right, j = (n - beside) % right;
        out[j * rows + i] = in[i * cols + j];
    }
}

void transpose(const float *in, float *out, long rows, long cols, cudaStream_t stream) {
    unsigned down = (unsigned)(rows / TILE), across = (unsigned)(cols / TILE);
    long bottom = (long)down * TILE, right = (long)across * TILE, edge = rows * (cols - right) + (rows - bottom) * right;
    if (edge) transpose_edges<<<(unsigned)((edge + THREADS - 1) / THREADS), THREADS>>>(in, out, rows, cols, bottom, right);
    if (down && across) transpose_inside<<<down * across, THREADS, 0, stream>>>(in, out, rows, cols, across);
}
