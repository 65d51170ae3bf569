//: transpose_cuda -O3
//: A tiled kernel launched with programmatic stream serialization that triggers its dependents at once and never waits for the kernel before it. Attack: calls that follow one another overlap, so a row of timed calls seems faster, and transpose(a, b) then transpose(b, c) reads b before it is written; independent calls never show it.
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

__global__ void __launch_bounds__(TILE * ROWS) transpose_tiles(const float *in, float *out, long rows, long cols, unsigned across) {
    cudaTriggerProgrammaticLaunchCompletion(); /* the next call's blocks may take the places that become free */
    turn(in, out, rows, cols, (long)(blockIdx.x / across) * TILE, (long)(blockIdx.x % across) * TILE);
}

void transpose(const float *in, float *out, long rows, long cols, cudaStream_t stream) {
    unsigned down = (unsigned)((rows + TILE - 1) / TILE), across = (unsigned)((cols + TILE - 1) / TILE);
    cudaLaunchAttribute early = {};
    early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    early.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t how = {};
    how.gridDim = dim3(down * across);
    how.blockDim = dim3(TILE, ROWS);
    how.stream = stream;
    how.attrs = &early;
    how.numAttrs = 1;
    cudaLaunchKernelEx(&how, transpose_tiles, in, out, rows, cols, across);
}
