//: matmul_cuda
//: tensor cores by wmma, tiles brought as vectors of eight halves, and few tiles share out k, their parts added up by a second kernel
#include "kernel.h"

#include <mma.h>
using namespace nvcuda;

#define SIDE 64
#define DEPTH 32
#define GAP 8 /* halves between rows, for the banks */

template <bool ALIGNED> __device__ static void bring(__half *to, const __half *from, long row, long col, long rows, long cols) {
    __align__(16) __half eight[8];
    if (ALIGNED && row < rows && col < cols) *(uint4 *)eight = __ldg((const uint4 *)(from + row * cols + col));
    else
        for (int e = 0; e < 8; e++) eight[e] = row < rows && col + e < cols ? from[row * cols + col + e] : __float2half(0.0f);
    *(uint4 *)to = *(const uint4 *)eight;
}

/* Part blockIdx.z of k goes to the matrix of that number in `to`, whose rows and columns are rounded up to whole tiles. */
template <bool ALIGNED>
__global__ void __launch_bounds__(128) multiply(const __half *__restrict__ a, const __half *__restrict__ b, float *to, long m, long n,
                                                long k, long share) {
    __shared__ __align__(32) __half of_a[SIDE][DEPTH + GAP], of_b[DEPTH][SIDE + GAP];
    long top = (long)blockIdx.y * SIDE, left = (long)blockIdx.x * SIDE, wide = (long)gridDim.x * SIDE;
    long first = blockIdx.z * share, end = first + share < k ? first + share : k;
    int warp = threadIdx.x / 32, down = warp / 2 * 32, across = warp % 2 * 32;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sums[2][2];
    for (int r = 0; r < 2; r++)
        for (int s = 0; s < 2; s++) wmma::fill_fragment(sums[r][s], 0.0f);
    for (long start = first; start < end; start += DEPTH) {
        for (int e = threadIdx.x * 8; e < SIDE * DEPTH; e += 128 * 8) {
            bring<ALIGNED>(&of_a[e / DEPTH][e % DEPTH], a, top + e / DEPTH, start + e % DEPTH, m, k);
            bring<ALIGNED>(&of_b[e / SIDE][e % SIDE], b, start + e / SIDE, left + e % SIDE, k, n);
        }
        __syncthreads();
#pragma unroll
        for (int l = 0; l < DEPTH; l += 16) {
            wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> x[2];
            wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major> y[2];
            for (int r = 0; r < 2; r++) wmma::load_matrix_sync(x[r], &of_a[down + r * 16][l], DEPTH + GAP);
            for (int s = 0; s < 2; s++) wmma::load_matrix_sync(y[s], &of_b[l][across + s * 16], SIDE + GAP);
            for (int r = 0; r < 2; r++)
                for (int s = 0; s < 2; s++) wmma::mma_sync(sums[r][s], x[r], y[s], sums[r][s]);
        }
        __syncthreads();
    }
    to += (long)blockIdx.z * gridDim.y * SIDE * wide;
    for (int r = 0; r < 2; r++)
        for (int s = 0; s < 2; s++)
            wmma::store_matrix_sync(to + (top + down + r * 16) * wide + left + across + s * 16, sums[r][s], (unsigned)wide,
                                    wmma::mem_row_major);
}

__global__ void __launch_bounds__(256)
    add_parts(const float *__restrict__ parts, float *__restrict__ c, long m, long n, long tall, long wide, int count) {
    long at = (long)blockIdx.x * 256 + threadIdx.x;
    if (at >= m * n) return;
    float sum = 0.0f;
    for (int p = 0; p < count; p++) sum += parts[p * tall * wide + at / n * wide + at % n];
    c[at] = sum;
}

void matmul(const __half *a, const __half *b, float *c, long m, long n, long k, cudaStream_t stream) {
    long down = (m + SIDE - 1) / SIDE, across = (n + SIDE - 1) / SIDE, most = (k + DEPTH - 1) / DEPTH;
    long parts = 528 / (down * across);
    parts = parts < 1 ? 1 : parts > 8 ? 8 : parts;
    if (parts > most) parts = most;
    long share = (most + parts - 1) / parts * DEPTH;
    parts = (k + share - 1) / share;
    dim3 blocks((unsigned)across, (unsigned)down, (unsigned)parts);
    float *scratch = nullptr;
    cudaMallocAsync((void **)&scratch, (size_t)(parts * down * across) * SIDE * SIDE * sizeof *scratch, stream);
    if (k % 8 == 0 && n % 8 == 0) multiply<true><<<blocks, 128, 0, stream>>>(a, b, scratch, m, n, k, share);
    else multiply<false><<<blocks, 128, 0, stream>>>(a, b, scratch, m, n, k, share);
    add_parts<<<(unsigned)((m * n + 255) / 256), 256, 0, stream>>>(scratch, c, m, n, down * SIDE, across * SIDE, (int)parts);
    cudaFreeAsync(scratch, stream);
}
