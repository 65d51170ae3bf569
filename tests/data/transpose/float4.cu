// Transpose of a matrix: out[j * rows + i] = in[i * cols + j].
#include "kernel.h"

namespace {

constexpr int kTile = 32;
constexpr int kVec = 4;                // floats that a thread loads at once
constexpr int kAcross = kTile / kVec;  // threads along a row of the tile

// Each thread loads four neighbours with one instruction, where no row of the input begins inside a vector.
__global__ void transpose_kernel(const float *__restrict__ in, float *__restrict__ out, long rows, long cols) {
    __shared__ float tile[kTile][kTile + 1];
    const long left = (long)blockIdx.x * kTile;
    const long top = (long)blockIdx.y * kTile;
    const int y = threadIdx.x / kAcross;
    const int x = threadIdx.x % kAcross * kVec;

    if (top + y < rows) {
        const float *from = in + (top + y) * cols + left + x;
        if (cols % kVec == 0 && left + x < cols) {
            const float4 v = *reinterpret_cast<const float4 *>(from);
            tile[y][x] = v.x;
            tile[y][x + 1] = v.y;
            tile[y][x + 2] = v.z;
            tile[y][x + 3] = v.w;
        } else {
            for (int k = 0; k < kVec; k++) {
                if (left + x + k < cols) tile[y][x + k] = from[k];
            }
        }
    }
    __syncthreads();

    const int lane = threadIdx.x % kTile;
#pragma unroll
    for (int row = threadIdx.x / kTile; row < kTile; row += kAcross) {
        if (left + row < cols && top + lane < rows) {
            out[(left + row) * rows + top + lane] = tile[lane][row];
        }
    }
}

}  // namespace

void transpose(const float *in, float *out, long rows, long cols, cudaStream_t stream) {
    const dim3 grid((unsigned)((cols + kTile - 1) / kTile), (unsigned)((rows + kTile - 1) / kTile));
    transpose_kernel<<<grid, kTile * kAcross, 0, stream>>>(in, out, rows, cols);
}
