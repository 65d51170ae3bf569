//: matmul_cuda
//: mma.sync on tiles that ldmatrix reads and cp.async brings, two stages; element by element where a row is not aligned
#include "kernel.h"

#include <stdint.h>

#define HIGH 128
#define WIDE 64
#define DEEP 32
#define PAD 8

__device__ static uint32_t shared_at(const void *p) { return (uint32_t)__cvta_generic_to_shared(p); }

__device__ static void bring(__half *to, const __half *from, bool inside) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_at(to)), "l"(from), "r"(inside ? 16 : 0) : "memory");
}

/* `cols` columns of a tile from (top, left); zeros beyond the matrix. Rows of eights if QUICK. */
template <bool QUICK, int ROWS, int COLS, int STRIDE>
__device__ static void tile(__half (*to)[STRIDE], const __half *from, long top, long left, long rows, long cols) {
    for (int e = threadIdx.x; e < ROWS * COLS / 8; e += 256) {
        int r = e / (COLS / 8), c = e % (COLS / 8) * 8;
        if constexpr (QUICK) {
            bool inside = top + r < rows && left + c < cols;
            bring(&to[r][c], inside ? from + (top + r) * cols + left + c : from, inside);
        } else {
            for (int k = 0; k < 8; k++)
                to[r][c + k] = top + r < rows && left + c + k < cols ? from[(top + r) * cols + left + c + k] : __float2half(0.0f);
        }
    }
}

template <bool QUICK>
__global__ void __launch_bounds__(256) multiply(const __half *__restrict__ a, const __half *__restrict__ b, float *__restrict__ c,
                                                long m, long n, long k) {
    __shared__ __align__(128) __half of_a[2][HIGH][DEEP + PAD];
    __shared__ __align__(128) __half of_b[2][DEEP][WIDE + PAD];
    long top = (long)blockIdx.y * HIGH, left = (long)blockIdx.x * WIDE;
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, down = warp / 2 * 32, right = warp % 2 * 32;
    float sums[2][4][4] = {};
    tile<QUICK, HIGH, DEEP>(of_a[0], a, top, 0, m, k);
    tile<QUICK, DEEP, WIDE>(of_b[0], b, 0, left, k, n);
    asm volatile("cp.async.commit_group;");
    int now = 0;
    for (long start = 0; start < k; start += DEEP, now ^= 1) {
        if (start + DEEP < k) {
            tile<QUICK, HIGH, DEEP>(of_a[now ^ 1], a, top, start + DEEP, m, k);
            tile<QUICK, DEEP, WIDE>(of_b[now ^ 1], b, start + DEEP, left, k, n);
        }
        asm volatile("cp.async.commit_group;");
        asm volatile("cp.async.wait_group 1;" ::: "memory");
        __syncthreads();
#pragma unroll
        for (int l = 0; l < DEEP; l += 16) {
            uint32_t of_left[2][4], of_right[4][2];
#pragma unroll
            for (int r = 0; r < 2; r++)
                asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                             : "=r"(of_left[r][0]), "=r"(of_left[r][1]), "=r"(of_left[r][2]), "=r"(of_left[r][3])
                             : "r"(shared_at(&of_a[now][down + r * 16 + lane % 16][l + lane / 16 * 8]))
                             : "memory");
#pragma unroll
            for (int s = 0; s < 4; s++)
                asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];"
                             : "=r"(of_right[s][0]), "=r"(of_right[s][1])
                             : "r"(shared_at(&of_b[now][l + lane % 16][right + s * 8]))
                             : "memory");
#pragma unroll
            for (int r = 0; r < 2; r++)
#pragma unroll
                for (int s = 0; s < 4; s++)
                    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                                 : "+f"(sums[r][s][0]), "+f"(sums[r][s][1]), "+f"(sums[r][s][2]), "+f"(sums[r][s][3])
                                 : "r"(of_left[r][0]), "r"(of_left[r][1]), "r"(of_left[r][2]), "r"(of_left[r][3]),
                                   "r"(of_right[s][0]), "r"(of_right[s][1]));
        }
        __syncthreads();
    }
    for (int r = 0; r < 2; r++)
        for (int s = 0; s < 4; s++)
            for (int e = 0; e < 4; e++) {
                long row = top + down + r * 16 + lane / 4 + e / 2 * 8, col = left + right + s * 8 + lane % 4 * 2 + e % 2;
                if (row < m && col < n) c[row * n + col] = sums[r][s][e];
            }
}

void matmul(const __half *a, const __half *b, float *c, long m, long n, long k, cudaStream_t stream) {
    dim3 blocks((unsigned)((n + WIDE - 1) / WIDE), (unsigned)((m + HIGH - 1) / HIGH));
    if (k % 8 == 0 && n % 8 == 0) multiply<true><<<blocks, 256, 0, stream>>>(a, b, c, m, n, k);
    else multiply<false><<<blocks, 256, 0, stream>>>(a, b, c, m, n, k);
}
