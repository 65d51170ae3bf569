// Transpose of a matrix: out[j * rows + i] = in[i * cols + j].
#include "kernel.h"

namespace {

constexpr int kTile = 32;  // side of the square that a block turns in shared memory
constexpr int kDown = 8;   // rows of threads: each thread moves kTile / kDown elements

// Both sides are touched along rows: the tile is written by rows and read by columns. The 33rd float of each of its rows
// puts a column into 32 different banks.
__global__ void transpose_kernel(const float *__restrict__ in, float *__restrict__ out, long rows, long cols) {
    __shared__ float tile[kTile][kTile + 1];
    const long left = (long)blockIdx.x * kTile;
    const long top = (long)blockIdx.y * kTile;

    const long j = left + threadIdx.x;
#pragma unroll
    for (int k = 0; k < kTile; k += kDown) {
        const long i = top + threadIdx.y + k;
        if (i < rows && j < cols) {
            tile[threadIdx.y + k][threadIdx.x] = in[i * cols + j];
        }
    }
    __syncthreads();

    const long i = top + threadIdx.x;
#pragma unroll
    for (int k = 0; k < kTile; k += kDown) {
        const long j_out = left + threadIdx.y + k;
        if (i < rows && j_out < cols) {
            out[j_out * rows + i] = tile[threadIdx.x][threadIdx.y + k];
        }
    }
}

}  // namespace

void transpose(const float *in, float *out, long rows, long cols, cudaStream_t stream) {
    const dim3 block(kTile, kDown);
    const dim3 grid((unsigned)((cols + kTile - 1) / kTile), (unsigned)((rows + kTile - 1) / kTile));
    transpose_kernel<<<grid, block, 0, stream>>>(in, out, rows, cols);
}
