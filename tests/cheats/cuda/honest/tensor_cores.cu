//: matmul_cuda
//: tensor cores: tiles of 64 by 64 in shared memory, four warps with two by two fragments each
#include "kernel.h"
#include <mma.h>
using namespace nvcuda;
#define TILE 64
#define DEPTH 32

/* A row of 8 elements at (row, col) of a matrix of rows by cols; what lies outside is 0. */
__device__ void eight(__half *to, const __half *from, long row, long col, long rows, long cols) {
    if (cols % 8 == 0 && row < rows && col + 8 <= cols) {
        *(uint4 *)to = *(const uint4 *)&from[row * cols + col];
        return;
    }
    for (int e = 0; e < 8; e++) to[e] = row < rows && col + e < cols ? from[row * cols + col + e] : __float2half(0.0f);
}

__global__ void __launch_bounds__(128) tensor_tiles(const __half *__restrict__ a, const __half *__restrict__ b, float *__restrict__ c, long m, long n, long k) {
    __shared__ __align__(32) __half of_a[TILE][DEPTH + 8], of_b[DEPTH][TILE + 8];
    __shared__ __align__(32) float of_c[TILE][TILE + 8];
    long top = (long)blockIdx.y * TILE, left = (long)blockIdx.x * TILE;
    int warp = threadIdx.x / 32, down = (warp / 2) * 32, right = (warp % 2) * 32;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sums[2][2];
    for (int r = 0; r < 2; r++)
        for (int s = 0; s < 2; s++) wmma::fill_fragment(sums[r][s], 0.0f);
    for (long start = 0; start < k; start += DEPTH) {
        for (int i = threadIdx.x * 8; i < TILE * DEPTH; i += 128 * 8) {
            eight(&of_a[i / DEPTH][i % DEPTH], a, top + i / DEPTH, start + i % DEPTH, m, k);
            eight(&of_b[i / TILE][i % TILE], b, start + i / TILE, left + i % TILE, k, n);
        }
        __syncthreads();
        for (int l = 0; l < DEPTH; l += 16) {
            wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> fa[2];
            wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major> fb[2];
            for (int r = 0; r < 2; r++) wmma::load_matrix_sync(fa[r], &of_a[down + 16 * r][l], DEPTH + 8);
            for (int s = 0; s < 2; s++) wmma::load_matrix_sync(fb[s], &of_b[l][right + 16 * s], TILE + 8);
            for (int r = 0; r < 2; r++)
                for (int s = 0; s < 2; s++) wmma::mma_sync(sums[r][s], fa[r], fb[s], sums[r][s]);
        }
        __syncthreads();
    }
    for (int r = 0; r < 2; r++)
        for (int s = 0; s < 2; s++)
            wmma::store_matrix_sync(&of_c[down + 16 * r][right + 16 * s], sums[r][s], TILE + 8, wmma::mem_row_major);
    __syncthreads();
    for (int i = threadIdx.x; i < TILE * TILE; i += 128) {
        long row = top + i / TILE, col = left + i % TILE;
        if (row < m && col < n) c[row * n + col] = of_c[i / TILE][i % TILE];
    }
}

void matmul(const __half *a, const __half *b, float *c, long m, long n, long k, cudaStream_t stream) {
    dim3 blocks((unsigned)((n + TILE - 1) / TILE), (unsigned)((m + TILE - 1) / TILE));
    tensor_tiles<<<blocks, 128, 0, stream>>>(a, b, c, m, n, k);
}
