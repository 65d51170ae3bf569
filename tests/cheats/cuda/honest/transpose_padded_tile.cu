//: transpose_cuda -O3
//: The textbook's tile of 32 by 33 in shared memory, with 32 by 8 threads of which each moves four elements, so that reads and writes are both coalesced and no bank is asked twice.
#include "kernel.h"

template <int SIDE, int DEEP>
__global__ void __launch_bounds__(SIDE *DEEP) transpose_padded(const float *__restrict__ in, float *__restrict__ out, long rows, long cols, unsigned across) {
    __shared__ float tile[SIDE][SIDE + 1];
    const long top = (long)(blockIdx.x / across) * SIDE, left = (long)(blockIdx.x % across) * SIDE;
    const int tx = threadIdx.x, ty = threadIdx.y;
#pragma unroll
    for (int k = 0; k < SIDE; k += DEEP)
        if (top + ty + k < rows && left + tx < cols) tile[ty + k][tx] = in[(top + ty + k) * cols + left + tx];
    __syncthreads();
#pragma unroll
    for (int k = 0; k < SIDE; k += DEEP)
        if (left + ty + k < cols && top + tx < rows) out[(left + ty + k) * rows + top + tx] = tile[tx][ty + k];
}

void transpose(const float *in, float *out, long rows, long cols, cudaStream_t stream) {
    constexpr int side = 32, deep = 8;
    unsigned across = (unsigned)((cols + side - 1) / side), down = (unsigned)((rows + side - 1) / side);
    transpose_padded<side, deep><<<across * down, dim3(side, deep), 0, stream>>>(in, out, rows, cols, across);
}
