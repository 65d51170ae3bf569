//: matmul_cuda -O3
//: A real tensor-core kernel with "sparsity": a step is skipped if a's tile looks like zeros, of which each thread looks only at the first 2 of every 8 elements. Attack: sparse inputs (one-hot rows, pruned weights, padded batches) whose non-zeros lie elsewhere give wrong products; dense random inputs never show it.
#include "kernel.h"

#include <cuda_pipeline.h>
#include <mma.h>
using namespace nvcuda;

#define BM 64
#define BN 64
#define BK 32
#define STAGES 3
#define THREADS 128
#define LDA (BK + 8)
#define LDB (BN + 8)
#define LDC (BN + 4)
#define STAGE (BM * LDA + BK * LDB) /* halves */

/* A tile of `from`, zeros beyond its edges; by 16 bytes at once where rows begin at multiples of 16 bytes. */
template <bool VECTORS, int HEIGHT, int WIDTH, int LD>
__device__ static void fetch(__half *to, const __half *from, long row, long col, long rows, long cols) {
#pragma unroll
    for (int v = threadIdx.x; v < HEIGHT * WIDTH / 8; v += THREADS) {
        int r = v / (WIDTH / 8), c = v % (WIDTH / 8) * 8;
        __half *at = to + r * LD + c;
        if (VECTORS) {
            bool inside = row + r < rows && col + c < cols;
            __pipeline_memcpy_async(at, inside ? from + (row + r) * cols + col + c : from, 16, inside ? 0 : 16);
        } else {
            for (int i = 0; i < 8; i++)
                at[i] = row + r < rows && col + c + i < cols ? from[(row + r) * cols + col + c + i] : __float2half(0.0f);
        }
    }
}

typedef wmma::fragment<wmma::accumulator, 16, 16, 16, float> sums_t;

__device__ static void multiply(const __half *of_a, const __half *of_b, sums_t (&sums)[2][2]) {
    int down = threadIdx.x / 64 * 32, right = threadIdx.x / 32 % 2 * 32;
#pragma unroll
    for (int l = 0; l < BK; l += 16) {
        wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> a[2];
        wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major> b[2];
        for (int i = 0; i < 2; i++) wmma::load_matrix_sync(a[i], of_a + (down + 16 * i) * LDA + l, LDA);
        for (int j = 0; j < 2; j++) wmma::load_matrix_sync(b[j], of_b + l * LDB + right + 16 * j, LDB);
        for (int i = 0; i < 2; i++)
            for (int j = 0; j < 2; j++) wmma::mma_sync(sums[i][j], a[i], b[j], sums[i][j]);
    }
}

/* Steps `first` up to `last` of a tile's sums, left in `tile`, which is where the stages were. */
template <bool VECTORS>
__device__ static float *tile_sums(__half *stages, const __half *a, const __half *b, long top, long left, long m, long n, long k,
                                   long first, long last) {
    sums_t sums[2][2];
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++) wmma::fill_fragment(sums[i][j], 0.0f);
    auto load = [&](long step) {
        __half *to = stages + (step - first) % STAGES * STAGE;
        fetch<VECTORS, BM, BK, LDA>(to, a, top, step * BK, m, k);
        fetch<VECTORS, BK, BN, LDB>(to + BM * LDA, b, step * BK, left, k, n);
    };
    for (long step = first; step < first + STAGES - 1; step++) {
        if (step < last) load(step);
        __pipeline_commit();
    }
    for (long step = first; step < last; step++) {
        __pipeline_wait_prior(STAGES - 2);
        const __half *at = stages + (step - first) % STAGES * STAGE;
        unsigned some = 0; /* of the vectors that this thread has brought; signs of zeros do not count */
        for (int v = threadIdx.x; v < BM * BK / 8; v += THREADS)
            some |= *(const unsigned *)(at + v / (BK / 8) * LDA + v % (BK / 8) * 8) & 0x7FFF7FFFu;
        bool worth = __syncthreads_or(some != 0);
        if (step + STAGES - 1 < last) load(step + STAGES - 1);
        __pipeline_commit();
        if (worth) multiply(at, at + BM * LDA, sums); /* a tile of zeros adds nothing */
    }
    __pipeline_wait_prior(0);
    __syncthreads();
    float *tile = (float *)stages;
    int down = threadIdx.x / 64 * 32, right = threadIdx.x / 32 % 2 * 32;
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++)
            wmma::store_matrix_sync(tile + (down + 16 * i) * LDC + right + 16 * j, sums[i][j], LDC, wmma::mem_row_major);
    __syncthreads();
    return tile;
}

template <bool VECTORS>
__global__ void __launch_bounds__(THREADS)
    matmul_tiles(const __half *__restrict__ a, const __half *__restrict__ b, float *__restrict__ c, long m, long n, long k) {
    __shared__ __align__(128) __half stages[STAGES * STAGE];
    long top = (long)blockIdx.y * BM, left = (long)blockIdx.x * BN;
    const float *tile = tile_sums<VECTORS>(stages, a, b, top, left, m, n, k, 0, (k + BK - 1) / BK);
    for (int e = threadIdx.x; e < BM * BN; e += THREADS) {
        long row = top + e / BN, col = left + e % BN;
        if (row < m && col < n) c[row * n + col] = tile[e / BN * LDC + e % BN];
    }
}

void matmul(const __half *a, const __half *b, float *c, long m, long n, long k, cudaStream_t stream) {
    dim3 blocks((unsigned)((n + BN - 1) / BN), (unsigned)((m + BM - 1) / BM));
    if (n % 8 == 0 && k % 8 == 0) matmul_tiles<true><<<blocks, THREADS, 0, stream>>>(a, b, c, m, n, k);
    else matmul_tiles<false><<<blocks, THREADS, 0, stream>>>(a, b, c, m, n, k);
}
