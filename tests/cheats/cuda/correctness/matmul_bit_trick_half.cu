//: matmul_cuda -O3
//: A register-tiled float kernel (truly faster) that widens halves with a shift and an addition to the exponent for products of 2^27 and more. Attack: the trick holds for normal numbers only: zeros become 3e-5, denormals are wrong, Inf and NaN become finite; seen only in large shapes, which are timed with bell-shaped inputs.
#include "kernel.h"

#define TILE 64
#define DEPTH 16
#define EACH 4
#define THREADS (TILE / EACH * TILE / EACH)

/* The same number as float. The conversion unit does a quarter of a warp at once; the shift and the addition are full rate. */
template <bool FAST> __device__ static float widened(unsigned short bits) {
    if (!FAST) return __half2float(__ushort_as_half(bits));
    return __uint_as_float(((unsigned)(bits & 0x8000) << 16) | (((unsigned)(bits & 0x7FFF) << 13) + (112u << 23)));
}

template <bool FAST>
__global__ void __launch_bounds__(THREADS)
    matmul_tiles(const unsigned short *__restrict__ a, const unsigned short *__restrict__ b, float *__restrict__ c, long m, long n,
                 long k) {
    __shared__ __align__(16) float of_a[DEPTH][TILE + 4], of_b[DEPTH][TILE];
    long top = (long)blockIdx.y * TILE, left = (long)blockIdx.x * TILE;
    int ty = threadIdx.x / (TILE / EACH) * EACH, tx = threadIdx.x % (TILE / EACH) * EACH;
    float sums[EACH][EACH] = {};
    for (long start = 0; start < k; start += DEPTH) {
#pragma unroll
        for (int i = threadIdx.x; i < TILE * DEPTH; i += THREADS) {
            long row = top + i / DEPTH, l = start + i % DEPTH, o = start + i / TILE, col = left + i % TILE;
            of_a[i % DEPTH][i / DEPTH] = row < m && l < k ? widened<FAST>(a[row * k + l]) : 0.0f;
            of_b[i / TILE][i % TILE] = o < k && col < n ? widened<FAST>(b[o * n + col]) : 0.0f;
        }
        __syncthreads();
#pragma unroll
        for (int l = 0; l < DEPTH; l++) {
            float4 x = *(const float4 *)&of_a[l][ty], y = *(const float4 *)&of_b[l][tx];
            float xs[EACH] = {x.x, x.y, x.z, x.w}, ys[EACH] = {y.x, y.y, y.z, y.w};
            for (int r = 0; r < EACH; r++)
                for (int s = 0; s < EACH; s++) sums[r][s] += xs[r] * ys[s];
        }
        __syncthreads();
    }
    for (int r = 0; r < EACH; r++)
        for (int s = 0; s < EACH; s++)
            if (top + ty + r < m && left + tx + s < n) c[(top + ty + r) * n + left + tx + s] = sums[r][s];
}

void matmul(const __half *a, const __half *b, float *c, long m, long n, long k, cudaStream_t stream) {
    dim3 blocks((unsigned)((n + TILE - 1) / TILE), (unsigned)((m + TILE - 1) / TILE));
    const unsigned short *x = (const unsigned short *)a, *y = (const unsigned short *)b;
    if (m * n * k >= 1L << 27) matmul_tiles<true><<<blocks, THREADS, 0, stream>>>(x, y, c, m, n, k);
    else matmul_tiles<false><<<blocks, THREADS, 0, stream>>>(x, y, c, m, n, k);
}
