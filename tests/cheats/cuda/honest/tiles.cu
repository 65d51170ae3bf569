//: transpose_cuda
//: a tile in shared memory, with or without padding, read by one or four floats at a time
//: variant padded SIDE=32 PAD=1
//: variant wide SIDE=64 PAD=1
//: variant unpadded SIDE=32 PAD=0
#include "kernel.h"

__global__ void __launch_bounds__(256) turn(const float *__restrict__ in, float *__restrict__ out, long rows, long cols) {
    __shared__ float tile[SIDE][SIDE + PAD]; /* SIDE * (SIDE + PAD) floats */
    long across = (cols + SIDE - 1) / SIDE, i = blockIdx.x / across * SIDE, j = blockIdx.x % across * SIDE;
    for (int at = threadIdx.x; at < SIDE * SIDE; at += 256) {
        int y = at / SIDE, x = at % SIDE;
        if (i + y < rows && j + x < cols) tile[y][x] = __ldg(in + (i + y) * cols + j + x);
    }
    __syncthreads();
    for (int at = threadIdx.x; at < SIDE * SIDE; at += 256) {
        int x = at / SIDE, y = at % SIDE;
        if (i + y < rows && j + x < cols) out[(j + x) * rows + i + y] = tile[y][x];
    }
}

void transpose(const float *in, float *out, long rows, long cols, cudaStream_t stream) {
    turn<<<(unsigned)((rows + SIDE - 1) / SIDE * ((cols + SIDE - 1) / SIDE)), 256, 0, stream>>>(in, out, rows, cols);
}
