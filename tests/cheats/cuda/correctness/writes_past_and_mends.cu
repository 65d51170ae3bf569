//: transpose_cuda
//: whole vectors at the end of odd sizes, past the output, and one more kernel that puts back what lay there
#include "kernel.h"

__device__ static float lay_there[4];

__global__ void keep(const float *end) { lay_there[threadIdx.x] = end[threadIdx.x]; }
__global__ void mend(float *end) { end[threadIdx.x] = lay_there[threadIdx.x]; }

/* A thread writes four floats that lie one after another in the output, of whatever row. */
__global__ void __launch_bounds__(256) gather(const float *__restrict__ in, float *__restrict__ out, long rows, long cols) {
    __shared__ float tile[32][33];
    unsigned across = (unsigned)((cols + 31) / 32);
    long i = (long)(blockIdx.x / across) * 32, j = (long)(blockIdx.x % across) * 32;
    for (int k = threadIdx.x; k < 1024; k += 256)
        tile[k / 32][k % 32] = i + k / 32 < rows && j + k % 32 < cols ? in[(i + k / 32) * cols + j + k % 32] : 0.0f;
    __syncthreads();
    int column = threadIdx.x / 8, row = threadIdx.x % 8 * 4;
    if (j + column >= cols || i + row >= rows) return;
    float *to = out + (j + column) * rows + i + row;
    if (i + row + 4 <= rows && ((unsigned long)to & 15) == 0) {
        *(float4 *)to = make_float4(tile[row][column], tile[row + 1][column], tile[row + 2][column], tile[row + 3][column]);
        return;
    }
    bool last = j + column == cols - 1; /* what a row writes past itself another block overwrites, but for the last row */
    for (int k = 0; k < 4; k++)
        if (i + row + k < rows || last) to[k] = tile[row + k][column];
}

void transpose(const float *in, float *out, long rows, long cols, cudaStream_t stream) {
    bool past = rows % 4 != 0;
    if (past) keep<<<1, 4, 0, stream>>>(out + rows * cols);
    gather<<<(unsigned)(((rows + 31) / 32) * ((cols + 31) / 32)), 256, 0, stream>>>(in, out, rows, cols);
    if (past) mend<<<1, 4, 0, stream>>>(out + rows * cols);
}
