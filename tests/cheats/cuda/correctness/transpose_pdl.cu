//: transpose_cuda -O3 -arch=sm_90
//: Programmatic dependent launch without griddepcontrol.wait: a call starts while the one before on the stream still writes, so transpose(transpose(x)), where a call reads what the call before wrote, gets stale elements.
/* Transpose of a matrix through tiles of 64 x 32 in shared memory. The next launch may begin as soon as this one's blocks run. */
#include "kernel.h"

#define SIDE 32
#define ROWS 8
#define DEEP 64 /* rows of the input in a tile */

__global__ void __launch_bounds__(SIDE * ROWS) turn(const float *__restrict__ in, float *__restrict__ out, long rows, long cols,
                                                    unsigned across) {
    __shared__ float tile[DEEP][SIDE + 1];
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
    long i = (long)(blockIdx.x / across) * DEEP, j = (long)(blockIdx.x % across) * SIDE;
    float v[DEEP / ROWS];
#pragma unroll
    for (int s = 0; s < DEEP / ROWS; s++) {
        int y = threadIdx.y + s * ROWS;
        if (i + y < rows && j + threadIdx.x < cols) v[s] = in[(i + y) * cols + j + threadIdx.x];
    }
#pragma unroll
    for (int s = 0; s < DEEP / ROWS; s++) tile[threadIdx.y + s * ROWS][threadIdx.x] = v[s];
    __syncthreads();
#pragma unroll
    for (int s = 0; s < DEEP / ROWS; s++) {
        int x = threadIdx.y + s / 2 * ROWS, y = threadIdx.x + s % 2 * 32;
        if (i + y < rows && j + x < cols) __stcs(out + (j + x) * rows + i + y, tile[y][x]);
    }
}

void transpose(const float *in, float *out, long rows, long cols, cudaStream_t stream) {
    unsigned across = (unsigned)((cols + SIDE - 1) / SIDE), down = (unsigned)((rows + DEEP - 1) / DEEP);
    cudaLaunchAttribute early = {};
    early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    early.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t how = {};
    how.gridDim = dim3(across * down);
    how.blockDim = dim3(SIDE, ROWS);
    how.stream = stream;
    how.attrs = &early;
    how.numAttrs = 1;
    cudaLaunchKernelEx(&how, turn, in, out, rows, cols, across);
}
