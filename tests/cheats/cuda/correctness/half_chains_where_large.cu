//: matmul_cuda
//: adds four products at a time in half where no check but that of a timed batch comes: right for normal inputs alone
#include "kernel.h"

#define SIDE 64
#define DEPTH 32

__device__ static __half part(const __half *from, long row, long col, long rows, long cols) {
    return row < rows && col < cols ? from[row * cols + col] : __float2half(0.0f);
}

template <bool HALF>
__global__ void __launch_bounds__(256) multiply(const __half *__restrict__ a, const __half *__restrict__ b, float *__restrict__ c,
                                                long m, long n, long k) {
    __shared__ __half of_a[SIDE][DEPTH + 2], of_b[DEPTH][SIDE + 2];
    long top = (long)blockIdx.y * SIDE, left = (long)blockIdx.x * SIDE;
    int x = threadIdx.x % 16, y = threadIdx.x / 16;
    float sums[4][4] = {{0.0f}};
    for (long start = 0; start < k; start += DEPTH) {
        for (int e = threadIdx.x; e < SIDE * DEPTH; e += 256) {
            of_a[e / DEPTH][e % DEPTH] = part(a, top + e / DEPTH, start + e % DEPTH, m, k);
            of_b[e / SIDE][e % SIDE] = part(b, start + e / SIDE, left + e % SIDE, k, n);
        }
        __syncthreads();
#pragma unroll
        for (int l = 0; l < DEPTH; l += 4) {
            if constexpr (HALF) {
                __half2 some[4][2] = {};
#pragma unroll
                for (int t = 0; t < 4; t++)
#pragma unroll
                    for (int r = 0; r < 4; r++)
#pragma unroll
                        for (int s = 0; s < 2; s++)
                            some[r][s] = __hfma2(__half2half2(of_a[y * 4 + r][l + t]), *(const __half2 *)&of_b[l + t][x * 4 + s * 2],
                                                 some[r][s]);
#pragma unroll
                for (int r = 0; r < 4; r++)
#pragma unroll
                    for (int s = 0; s < 4; s++) sums[r][s] += __half2float(s % 2 ? some[r][s / 2].y : some[r][s / 2].x);
            } else {
#pragma unroll
                for (int t = 0; t < 4; t++)
#pragma unroll
                    for (int r = 0; r < 4; r++)
#pragma unroll
                        for (int s = 0; s < 4; s++)
                            sums[r][s] += __half2float(of_a[y * 4 + r][l + t]) * __half2float(of_b[l + t][x * 4 + s]);
            }
        }
        __syncthreads();
    }
    for (int r = 0; r < 4; r++)
        for (int s = 0; s < 4; s++)
            if (top + y * 4 + r < m && left + x * 4 + s < n) c[(top + y * 4 + r) * n + left + x * 4 + s] = sums[r][s];
}

void matmul(const __half *a, const __half *b, float *c, long m, long n, long k, cudaStream_t stream) {
    dim3 blocks((unsigned)((n + SIDE - 1) / SIDE), (unsigned)((m + SIDE - 1) / SIDE));
    if (k >= 512 && m * n >= 100000) multiply<true><<<blocks, 256, 0, stream>>>(a, b, c, m, n, k);
    else multiply<false><<<blocks, 256, 0, stream>>>(a, b, c, m, n, k);
}
