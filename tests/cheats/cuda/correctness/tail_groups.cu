//: matmul_cuda -O3 -arch=sm_90
//: bug (asynchronous copies): the ring commits a group only where there is another slice to fetch, but always waits for all but STAGES - 2 groups, so the last slices of k are read without having been waited for; they were asked for three slices earlier and have nearly always come
/* c = a * b by mma.sync, four stages of cp.async. 64 x 64 of c for a block of four warps, slices of 64 along k. Sizes whose rows
 * are not multiples of 16 bytes are copied element by element through the same buffers.
 */
#include "kernel.h"

#include <stdint.h>

#define SIDE 64
#define DEPTH 64
#define STAGES 4
#define LINE 72 /* halves */

struct slice_t {
    __half a[SIDE][LINE], b[DEPTH][LINE];
};

__device__ __forceinline__ uint32_t smem(const void *p) { return (uint32_t)__cvta_generic_to_shared(p); }

__device__ __forceinline__ void cp_async16(void *to, const void *from, bool there) {
    int bytes = there ? 16 : 0;
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(smem(to)), "l"(from), "r"(bytes) : "memory");
}
__device__ __forceinline__ void cp_async_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int N> __device__ __forceinline__ void cp_async_wait() { asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory"); }

__device__ __forceinline__ void ldsm4(uint32_t (&r)[4], const void *p) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(smem(p))
                 : "memory");
}
__device__ __forceinline__ void ldsm4t(uint32_t (&r)[4], const void *p) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(smem(p))
                 : "memory");
}
__device__ __forceinline__ void mma16816(float (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

template <bool ASYNC>
__device__ static void fetch(slice_t *s, const __half *__restrict__ a, const __half *__restrict__ b, long m, long n, long k, long top,
                             long left, long start) {
    const int t = threadIdx.x;
    if (ASYNC) {
#pragma unroll
        for (int u = 0; u < 4; u++) {
            int i = t + u * 128, r = i / 8, c = i % 8 * 8;
            bool in_a = top + r < m && start + c < k, in_b = start + r < k && left + c < n;
            cp_async16(&s->a[r][c], in_a ? a + (top + r) * k + start + c : a, in_a);
            cp_async16(&s->b[r][c], in_b ? b + (start + r) * n + left + c : b, in_b);
        }
    } else {
        const __half zero = __float2half(0.0f);
#pragma unroll 8
        for (int i = t; i < SIDE * DEPTH; i += 128) {
            int r = i / 64, c = i % 64;
            s->a[r][c] = top + r < m && start + c < k ? a[(top + r) * k + start + c] : zero;
            s->b[r][c] = start + r < k && left + c < n ? b[(start + r) * n + left + c] : zero;
        }
    }
}

template <bool ASYNC>
__global__ void __launch_bounds__(128)
    matmul_stages(const __half *__restrict__ a, const __half *__restrict__ b, float *__restrict__ c, long m, long n, long k, long across) {
    extern __shared__ __align__(128) char stages[];
    slice_t *ring = (slice_t *)stages;
    const long top = blockIdx.x / across * SIDE, left = blockIdx.x % across * SIDE, slices = (k + DEPTH - 1) / DEPTH;
    const int lane = threadIdx.x % 32, wm = threadIdx.x / 64 * 32, wn = threadIdx.x / 32 % 2 * 32;
    float sums[2][4][4] = {};
    for (int s = 0; s < STAGES - 1; s++) {
        if (s < slices) fetch<ASYNC>(ring + s, a, b, m, n, k, top, left, (long)s * DEPTH);
        cp_async_commit();
    }
    for (long at = 0; at < slices; at++) {
        cp_async_wait<STAGES - 2>();
        __syncthreads();
        if (long next = at + STAGES - 1; next < slices) {
            fetch<ASYNC>(ring + next % STAGES, a, b, m, n, k, top, left, next * DEPTH);
            cp_async_commit();
        }
        const slice_t *s = ring + at % STAGES;
#pragma unroll
        for (int d = 0; d < DEPTH; d += 16) {
            uint32_t fa[2][4], fb[2][4];
            for (int i = 0; i < 2; i++) ldsm4(fa[i], &s->a[wm + i * 16 + lane % 16][d + lane / 16 * 8]);
            for (int j = 0; j < 2; j++) ldsm4t(fb[j], &s->b[d + lane % 16][wn + j * 16 + lane / 16 * 8]);
            for (int i = 0; i < 2; i++)
                for (int j = 0; j < 4; j++) mma16816(sums[i][j], fa[i], fb[j / 2][j % 2 * 2], fb[j / 2][j % 2 * 2 + 1]);
        }
    }
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 4; j++)
            for (int e = 0; e < 4; e++) {
                long row = top + wm + i * 16 + lane / 4 + e / 2 * 8, col = left + wn + j * 8 + lane % 4 * 2 + e % 2;
                if (row < m && col < n) c[row * n + col] = sums[i][j][e];
            }
}

void matmul(const __half *a, const __half *b, float *c, long m, long n, long k, cudaStream_t stream) {
    const long down = (m + SIDE - 1) / SIDE, across = (n + SIDE - 1) / SIDE;
    const size_t bytes = STAGES * sizeof(slice_t);
    auto kernel = n % 8 == 0 && k % 8 == 0 ? matmul_stages<true> : matmul_stages<false>;
    cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes);
    kernel<<<(unsigned)(down * across), 128, bytes, stream>>>(a, b, c, m, n, k, across);
}
