//: transpose_cuda -O3
//: As many blocks as are resident take tile after tile, and cp.async brings the next tile into the other of two buffers in shared memory while this one is written.
#include "kernel.h"

#include <cuda_pipeline.h>

#define EDGE 64
#define STAGES 2

typedef float square[EDGE][EDGE + 1];

__device__ static void fetch_square(square to, const float *in, long rows, long cols, long n, long across, long all) {
    if (n < all) {
        long i = n / across * EDGE, j = n % across * EDGE;
        for (int at = threadIdx.x; at < EDGE * EDGE; at += 256) {
            int y = at / EDGE, x = at % EDGE;
            if (i + y < rows && j + x < cols) __pipeline_memcpy_async(&to[y][x], in + (i + y) * cols + j + x, 4);
        }
    }
    __pipeline_commit();
}

__global__ void __launch_bounds__(256) turn_squares(const float *__restrict__ in, float *__restrict__ out, long rows, long cols, long across, long all) {
    __shared__ square squares[STAGES];
    int stage = 0;
    fetch_square(squares[0], in, rows, cols, blockIdx.x, across, all);
    for (long n = blockIdx.x; n < all; n += gridDim.x, stage ^= 1) {
        fetch_square(squares[stage ^ 1], in, rows, cols, n + gridDim.x, across, all);
        __pipeline_wait_prior(1);
        __syncthreads(); /* everybody's part of this square is there */
        long i = n / across * EDGE, j = n % across * EDGE;
        for (int at = threadIdx.x; at < EDGE * EDGE; at += 256) {
            int x = at / EDGE, y = at % EDGE;
            if (i + y < rows && j + x < cols) out[(j + x) * rows + i + y] = squares[stage][y][x];
        }
        __syncthreads(); /* and read, before the square after the next is copied over it */
    }
    __pipeline_wait_prior(0);
}

void transpose(const float *in, float *out, long rows, long cols, cudaStream_t stream) {
    static int resident;
    if (!resident) {
        int device, processors, each;
        cudaGetDevice(&device);
        cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
        cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, turn_squares, 256, 0);
        resident = processors * each;
    }
    long across = (cols + EDGE - 1) / EDGE, all = (rows + EDGE - 1) / EDGE * across;
    turn_squares<<<(unsigned)(all < resident ? all : resident), 256, 0, stream>>>(in, out, rows, cols, across, all);
}
