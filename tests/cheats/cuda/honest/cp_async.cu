//: transpose_cuda
//: loads a tile with cp.async
#include "kernel.h"
#include <cuda_pipeline.h>

__global__ void turn(const float *__restrict__ in, float *__restrict__ out, long rows, long cols) {
    __shared__ float tile[32][33];
    long across = (cols + 31) / 32, i = blockIdx.x / across * 32, j = blockIdx.x % across * 32;
    for (int y = threadIdx.y; y < 32; y += 8)
        if (i + y < rows && j + threadIdx.x < cols) __pipeline_memcpy_async(&tile[y][threadIdx.x], in + (i + y) * cols + j + threadIdx.x, 4);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
    for (int x = threadIdx.y; x < 32; x += 8)
        if (j + x < cols && i + threadIdx.x < rows) out[(j + x) * rows + i + threadIdx.x] = tile[threadIdx.x][x];
}

void transpose(const float *in, float *out, long rows, long cols, cudaStream_t stream) {
    turn<<<(unsigned)((rows + 31) / 32 * ((cols + 31) / 32)), dim3(32, 8), 0, stream>>>(in, out, rows, cols);
}
