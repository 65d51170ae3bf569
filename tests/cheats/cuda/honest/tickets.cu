//: transpose_cuda
//: as many blocks as fit take tiles by tickets from a counter, which the last one to leave sets back; tiles lie swizzled
#include "kernel.h"

#define SIDE 64

__device__ static unsigned next_tile, left_blocks;

__global__ void __launch_bounds__(256) by_tickets(const float *__restrict__ in, float *__restrict__ out, long rows, long cols,
                                                  unsigned across, unsigned tiles) {
    __shared__ float tile[SIDE][SIDE];
    __shared__ unsigned ticket;
    int x = threadIdx.x % SIDE, y = threadIdx.x / SIDE;
    for (;;) {
        if (threadIdx.x == 0) ticket = atomicAdd(&next_tile, 1);
        __syncthreads();
        unsigned mine = ticket;
        if (mine >= tiles) break;
        long i = (long)(mine / across) * SIDE, j = (long)(mine % across) * SIDE;
#pragma unroll
        for (int k = 0; k < SIDE; k += 4)
            if (i + y + k < rows && j + x < cols) tile[y + k][x ^ ((y + k) & 31)] = __ldcs(in + (i + y + k) * cols + j + x);
        __syncthreads();
#pragma unroll
        for (int k = 0; k < SIDE; k += 4)
            if (j + y + k < cols && i + x < rows) __stcs(out + (j + y + k) * rows + i + x, tile[x][(y + k) ^ (x & 31)]);
        __syncthreads();
    }
    if (threadIdx.x == 0 && atomicInc(&left_blocks, gridDim.x - 1) == gridDim.x - 1) next_tile = 0;
}

void transpose(const float *in, float *out, long rows, long cols, cudaStream_t stream) {
    static unsigned most;
    if (!most) {
        int device = 0, processors = 0, each = 0;
        cudaGetDevice(&device);
        cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
        cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, by_tickets, 256, 0);
        most = (unsigned)(processors * each);
    }
    unsigned across = (unsigned)((cols + SIDE - 1) / SIDE), tiles = across * (unsigned)((rows + SIDE - 1) / SIDE);
    by_tickets<<<tiles < most ? tiles : most, 256, 0, stream>>>(in, out, rows, cols, across, tiles);
}
