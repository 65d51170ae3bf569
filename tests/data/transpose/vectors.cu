// Transpose of a matrix: out[j * rows + i] = in[i * cols + j].
#include "kernel.h"

namespace {

constexpr int kTile = 64;               // side of the square that a block turns in shared memory
constexpr int kThreads = 256;
constexpr int kAcross = kTile / 4;      // threads along a row of the tile, four floats each
constexpr int kDown = kThreads / kAcross;
constexpr int kEach = kTile / kDown;    // rows of the tile that a thread handles

// Four floats at `from`, of which `there` exist; `whole` where rows are multiples of 16 bytes.
__device__ float4 load(const float *from, long there, bool whole) {
    if (whole && there >= 4) return *reinterpret_cast<const float4 *>(from);
    return make_float4(there > 0 ? from[0] : 0, there > 1 ? from[1] : 0, there > 2 ? from[2] : 0, there > 3 ? from[3] : 0);
}

__device__ void store(float *to, float4 v, long there, bool whole) {
    if (whole && there >= 4) {
        *reinterpret_cast<float4 *>(to) = v;
        return;
    }
    if (there > 0) to[0] = v.x;
    if (there > 1) to[1] = v.y;
    if (there > 2) to[2] = v.z;
    if (there > 3) to[3] = v.w;
}

// 16 bytes a lane on both sides: loads go into registers first, then to the tile, and come back as columns.
__global__ void __launch_bounds__(kThreads)
transpose_kernel(const float *__restrict__ in, float *__restrict__ out, long rows, long cols) {
    __shared__ float tile[kTile][kTile + 1];
    const long left = (long)blockIdx.x * kTile;
    const long top = (long)blockIdx.y * kTile;
    const int y = threadIdx.x / kAcross;
    const int x = threadIdx.x % kAcross * 4;

    float4 held[kEach] = {};
#pragma unroll
    for (int k = 0; k < kEach; k++) {
        const long i = top + y + k * kDown;
        if (i < rows) held[k] = load(in + i * cols + left + x, cols - left - x, cols % 4 == 0);
    }
#pragma unroll
    for (int k = 0; k < kEach; k++) {
        float *row = &tile[y + k * kDown][x];
        row[0] = held[k].x;
        row[1] = held[k].y;
        row[2] = held[k].z;
        row[3] = held[k].w;
    }
    __syncthreads();

#pragma unroll
    for (int k = 0; k < kEach; k++) {
        const int j = y + k * kDown;
        const float4 v = make_float4(tile[x][j], tile[x + 1][j], tile[x + 2][j], tile[x + 3][j]);
        if (left + j < cols) store(out + (left + j) * rows + top + x, v, rows - top - x, rows % 4 == 0);
    }
}

}  // namespace

void transpose(const float *in, float *out, long rows, long cols, cudaStream_t stream) {
    const dim3 grid((unsigned)((cols + kTile - 1) / kTile), (unsigned)((rows + kTile - 1) / kTile));
    transpose_kernel<<<grid, kThreads, 0, stream>>>(in, out, rows, cols);
}
