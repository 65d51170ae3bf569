// Transpose of a matrix: out[j * rows + i] = in[i * cols + j].
#include "kernel.h"

namespace {

constexpr int kTile = 32;  // side of the squares that a block turns in shared memory
constexpr int kDown = 8;
constexpr int kStrip = 4;  // squares, one below the other, that a block turns in a row

// While a square is stored, the loads of the next one are under way: two tiles are used in turns.
__global__ void transpose_kernel(const float *__restrict__ in, float *__restrict__ out, long rows, long cols) {
    __shared__ float tile[2][kTile][kTile + 1];
    const long left = (long)blockIdx.x * kTile;
    const long j = left + threadIdx.x;
    float held[kTile / kDown] = {};

    for (int step = 0; step <= kStrip; step++) {
        const long top = ((long)blockIdx.y * kStrip + step) * kTile;
        if (step < kStrip) {
#pragma unroll
            for (int k = 0; k < kTile / kDown; k++) {
                const long i = top + threadIdx.y + k * kDown;
                if (i < rows && j < cols) held[k] = in[i * cols + j];
            }
        }
        if (step > 0) {
            const long i = top - kTile + threadIdx.x;
#pragma unroll
            for (int k = 0; k < kTile; k += kDown) {
                const long row = left + threadIdx.y + k;
                if (i < rows && row < cols) out[row * rows + i] = tile[(step - 1) % 2][threadIdx.x][threadIdx.y + k];
            }
        }
#pragma unroll
        for (int k = 0; k < kTile / kDown; k++) tile[step % 2][threadIdx.y + k * kDown][threadIdx.x] = held[k];
        __syncthreads();
    }
}

}  // namespace

void transpose(const float *in, float *out, long rows, long cols, cudaStream_t stream) {
    const long strip = (long)kTile * kStrip;
    const dim3 grid((unsigned)((cols + kTile - 1) / kTile), (unsigned)((rows + strip - 1) / strip));
    transpose_kernel<<<grid, dim3(kTile, kDown), 0, stream>>>(in, out, rows, cols);
}
