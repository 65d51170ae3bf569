// Transpose of a matrix: out[j * rows + i] = in[i * cols + j].
#include "kernel.h"

namespace {

constexpr int kTile = 64;             // side of the square that a block turns in shared memory
constexpr int kDown = 8;              // rows of 32 threads
constexpr int kEach = kTile / kDown;  // rows of the tile that a thread handles

// Each thread issues all of its loads before it waits for the first. Nothing is touched twice: loads and stores are marked
// as streaming, so that neither pushes the other out of L2.
__global__ void __launch_bounds__(32 * kDown)
transpose_kernel(const float *__restrict__ in, float *__restrict__ out, long rows, long cols) {
    __shared__ float tile[kTile][kTile + 1];
    const long left = (long)blockIdx.x * kTile;
    const long top = (long)blockIdx.y * kTile;
    const int x = threadIdx.x;

    float held[kEach][2] = {};
#pragma unroll
    for (int k = 0; k < kEach; k++) {
        const long i = top + threadIdx.y + k * kDown;
        const float *row = in + i * cols + left;
        if (i < rows && left + x < cols) held[k][0] = __ldcs(row + x);
        if (i < rows && left + x + 32 < cols) held[k][1] = __ldcs(row + x + 32);
    }
#pragma unroll
    for (int k = 0; k < kEach; k++) {
        tile[threadIdx.y + k * kDown][x] = held[k][0];
        tile[threadIdx.y + k * kDown][x + 32] = held[k][1];
    }
    __syncthreads();

#pragma unroll
    for (int k = 0; k < kEach; k++) {
        const int y = threadIdx.y + k * kDown;
        float *row = out + (left + y) * rows + top;
        if (left + y < cols && top + x < rows) __stcs(row + x, tile[x][y]);
        if (left + y < cols && top + x + 32 < rows) __stcs(row + x + 32, tile[x + 32][y]);
    }
}

}  // namespace

void transpose(const float *in, float *out, long rows, long cols, cudaStream_t stream) {
    const dim3 block(32, kDown);
    const dim3 grid((unsigned)((cols + kTile - 1) / kTile), (unsigned)((rows + kTile - 1) / kTile));
    transpose_kernel<<<grid, block, 0, stream>>>(in, out, rows, cols);
}
