//: transpose_cuda -O3
//: Honest: a persistent grid that strides over the tiles; the next tile's elements come by cp.async (4 bytes, into padded shared memory) while the current one is written, with a barrier before a buffer is read and another before it is filled again.
#include "kernel.h"

#include <cuda_pipeline.h>

#define TILE 32
#define THREADS 256
#define BLOCKS (132 * 8)

__global__ void __launch_bounds__(THREADS) transpose_stream(const float *__restrict__ in, float *__restrict__ out, long rows, long cols,
                                                            long across, long tiles) {
    __shared__ float tile[2][TILE][TILE + 1];
    int lane = threadIdx.x % TILE, line = threadIdx.x / TILE;
    auto fetch = [&](long t, int to) {
        long i = t / across * TILE, j = t % across * TILE;
#pragma unroll
        for (int y = line; y < TILE; y += THREADS / TILE)
            if (i + y < rows && j + lane < cols) __pipeline_memcpy_async(&tile[to][y][lane], in + (i + y) * cols + j + lane, 4);
    };
    int at = 0;
    if (blockIdx.x < tiles) fetch(blockIdx.x, 0);
    __pipeline_commit();
    for (long t = blockIdx.x; t < tiles; t += gridDim.x, at ^= 1) {
        if (t + gridDim.x < tiles) fetch(t + gridDim.x, at ^ 1);
        __pipeline_commit();
        __pipeline_wait_prior(1);
        __syncthreads(); /* the tile is whole */
        long i = t / across * TILE, j = t % across * TILE;
#pragma unroll
        for (int x = line; x < TILE; x += THREADS / TILE)
            if (j + x < cols && i + lane < rows) out[(j + x) * rows + i + lane] = tile[at][lane][x];
        __syncthreads(); /* and may be filled again */
    }
}

void transpose(const float *in, float *out, long rows, long cols, cudaStream_t stream) {
    long down = (rows + TILE - 1) / TILE, across = (cols + TILE - 1) / TILE, tiles = down * across;
    transpose_stream<<<(unsigned)(tiles < BLOCKS ? tiles : BLOCKS), THREADS, 0, stream>>>(in, out, rows, cols, across, tiles);
}
