// Transpose of a matrix: out[j * rows + i] = in[i * cols + j].
#include "kernel.h"

namespace {

constexpr int kAcross = 32;  // threads of a block along a row of the input
constexpr int kDown = 8;     // and down its columns

// One thread an element: a warp reads along a row, and writes down a column.
__global__ void transpose_kernel(const float *in, float *out, long rows, long cols) {
    const long j = (long)blockIdx.x * kAcross + threadIdx.x;
    const long i = (long)blockIdx.y * kDown + threadIdx.y;
    if (i < rows && j < cols) {
        out[j * rows + i] = in[i * cols + j];
    }
}

}  // namespace

void transpose(const float *in, float *out, long rows, long cols, cudaStream_t stream) {
    const dim3 block(kAcross, kDown);
    const dim3 grid((unsigned)((cols + kAcross - 1) / kAcross), (unsigned)((rows + kDown - 1) / kDown));
    transpose_kernel<<<grid, block, 0, stream>>>(in, out, rows, cols);
}
