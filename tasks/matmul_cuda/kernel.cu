/* Product of two matrices in half precision, accumulated in float. As it stands: a block has a tile of c, its threads load
 * tiles of a and b into shared memory, and each adds up a few elements. No tensor core is used (mma.h, or mma.sync in PTX).
 */
#include "kernel.h"

#define THREADS 16 /* of a block, in either direction: 8, 16, 32 */
#define EACH 1     /* rows and columns of c that a thread has: 1, 2, 4 */
#define DEPTH 16   /* columns of a that are in shared memory at once: 8, 16, 32 */
#define WIDE 0     /* 1 keeps the tiles as float, converted once: 0, 1 */

#define TILE (THREADS * EACH) /* rows and columns of c that a block has */

#if WIDE
typedef float kept;
__device__ static kept keep(__half value) { return __half2float(value); }
__device__ static float used(kept value) { return value; }
#else
typedef __half kept;
__device__ static kept keep(__half value) { return value; }
__device__ static float used(kept value) { return __half2float(value); }
#endif

/* Part of a matrix that may end within it: zeros beyond. */
__device__ static kept part(const __half *from, long row, long col, long rows, long cols) {
    return keep(row < rows && col < cols ? from[row * cols + col] : __float2half(0.0f));
}

__global__ void __launch_bounds__(THREADS * THREADS)
    matmul_tiles(const __half *__restrict__ a, const __half *__restrict__ b, float *__restrict__ c, long m, long n, long k) {
    __shared__ kept of_a[TILE][DEPTH + 1], of_b[DEPTH][TILE];
    long top = (long)blockIdx.y * TILE, left = (long)blockIdx.x * TILE;
    int thread = (int)(threadIdx.y * THREADS + threadIdx.x);
    float sums[EACH][EACH] = {{0.0f}};
    for (long start = 0; start < k; start += DEPTH) {
        for (int i = thread; i < TILE * DEPTH; i += THREADS * THREADS) {
            of_a[i / DEPTH][i % DEPTH] = part(a, top + i / DEPTH, start + i % DEPTH, m, k);
            of_b[i / TILE][i % TILE] = part(b, start + i / TILE, left + i % TILE, k, n);
        }
        __syncthreads();
#pragma unroll
        for (int l = 0; l < DEPTH; l++)
            for (int r = 0; r < EACH; r++)
                for (int s = 0; s < EACH; s++)
                    sums[r][s] += used(of_a[threadIdx.y + r * THREADS][l]) * used(of_b[l][threadIdx.x + s * THREADS]);
        __syncthreads();
    }
    for (int r = 0; r < EACH; r++) {
        for (int s = 0; s < EACH; s++) {
            long row = top + threadIdx.y + r * THREADS, col = left + threadIdx.x + s * THREADS;
            if (row < m && col < n) c[row * n + col] = sums[r][s];
        }
    }
}

void matmul(const __half *a, const __half *b, float *c, long m, long n, long k, cudaStream_t stream) {
    dim3 blocks((unsigned)((n + TILE - 1) / TILE), (unsigned)((m + TILE - 1) / TILE));
    matmul_tiles<<<blocks, dim3(THREADS, THREADS), 0, stream>>>(a, b, c, m, n, k);
}
