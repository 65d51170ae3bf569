// Columns of a trace become rows, so that each row can be hashed. Plainly: the writes of a warp lie far apart.
#include "field.cuh"

#include <cuda_runtime.h>

constexpr int kTile = 32, kRows = 8;

__global__ void __launch_bounds__(kTile *kRows)
transpose_kernel(const uint32_t *__restrict__ in, uint32_t *__restrict__ out, int rows, int cols) {
    int x = blockIdx.x * kTile + threadIdx.x;
    for (int y = blockIdx.y * kTile + threadIdx.y; y < min(rows, (int)(blockIdx.y + 1) * kTile); y += kRows)
        if (x < cols) out[(long)x * rows + y] = in[(long)y * cols + x];
}

extern "C" int prover_transpose(const uint32_t *in, uint32_t *out, int rows, int cols) {
    const dim3 block(kTile, kRows);
    const dim3 grid((cols + kTile - 1) / kTile, (rows + kTile - 1) / kTile);
    transpose_kernel<<<grid, block>>>(in, out, rows, cols);
    return cudaGetLastError();
}
