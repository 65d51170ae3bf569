//: transpose_cuda
//: as many blocks as the device holds, each of which takes tile after tile
#include "kernel.h"

__global__ void __launch_bounds__(256, 4) turn(const float *__restrict__ in, float *__restrict__ out, long rows, long cols) {
    __shared__ float tile[32][33];
    long across = (cols + 31) / 32, all = (rows + 31) / 32 * across;
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    for (long t = blockIdx.x; t < all; t += gridDim.x) {
        long i = t / across * 32, j = t % across * 32;
        for (int y = warp; y < 32; y += 8)
            if (i + y < rows && j + lane < cols) tile[y][lane] = in[(i + y) * cols + j + lane];
        __syncthreads();
        for (int x = warp; x < 32; x += 8)
            if (j + x < cols && i + lane < rows) out[(j + x) * rows + i + lane] = tile[lane][x];
        __syncthreads();
    }
}

void transpose(const float *in, float *out, long rows, long cols, cudaStream_t stream) {
    static int processors;
    if (!processors) cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, 0);
    turn<<<processors * 4, 256, 0, stream>>>(in, out, rows, cols);
}
