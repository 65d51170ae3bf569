//: matmul_cuda -O3 -arch=sm_90
//: honest: tensor cores by mma.sync and ldmatrix, a ring of four stages filled by cp.async; odd sizes take the same loop with element-wise loads. Looks risky (inline PTX, casts of pointers, asm without clobbers on shared reads), but every stage is committed, waited for and fenced by a barrier
/* Product of two matrices in half precision, accumulated in float by the tensor cores.
 *
 * A block of four warps makes 64 x 64 of c; a warp makes 32 x 32 of that. Slices of a and b that are 32 deep go through a ring of
 * STAGES buffers. Where both row lengths are multiples of eight, the rows of a and b begin at multiples of 16 bytes, and the
 * slices are copied by cp.async; else they are read element by element. What lies outside of a matrix is zero in both
 * operands, so that it cannot meet a value that is not finite. The tensor cores cut off what they add rather than round it, so
 * after each 2048 of k their sums go to totals that are rounded: the error does not grow with k.
 */
#include "kernel.h"

#include <stdint.h>

namespace {

constexpr int BM = 64, BN = 64, BK = 32;
constexpr int STAGES = 4;
constexpr long SLICES_OF_A_SUM = 2048 / BK;
constexpr int LINE_A = BK + 8, LINE_B = BN + 8; /* halves: ldmatrix then meets eight different groups of banks */

__device__ __forceinline__ uint32_t shared_address(const void *p) { return (uint32_t)__cvta_generic_to_shared(p); }

/* 16 bytes, or zeros where `there` is false; `from` is then not read. */
__device__ __forceinline__ void cp_async16(void *to, const void *from, bool there) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;\n" ::"r"(shared_address(to)), "l"(from), "r"(there ? 16 : 0)
                 : "memory");
}

__device__ __forceinline__ void cp_async_commit() { asm volatile("cp.async.commit_group;\n" ::: "memory"); }

template <int N> __device__ __forceinline__ void cp_async_wait() { asm volatile("cp.async.wait_group %0;\n" ::"n"(N) : "memory"); }

__device__ __forceinline__ void ldsm4(uint32_t (&r)[4], const void *p) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];\n"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(shared_address(p))
                 : "memory");
}

__device__ __forceinline__ void ldsm4t(uint32_t (&r)[4], const void *p) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];\n"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(shared_address(p))
                 : "memory");
}

__device__ __forceinline__ void mma16816(float (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};\n"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

struct Stage {
    __half a[BM][LINE_A];
    __half b[BK][LINE_B];
};

template <bool COPIED>
__device__ __forceinline__ void fetch(Stage &s, const __half *__restrict__ a, const __half *__restrict__ b, long m, long n, long k,
                                      long top, long left, long start) {
    const int t = threadIdx.x;
    if constexpr (COPIED) {
#pragma unroll
        for (int u = 0; u < BM * BK / 8 / 128; u++) {
            int i = t + u * 128, r = i / (BK / 8), c = i % (BK / 8) * 8;
            bool there = top + r < m && start + c < k;
            cp_async16(&s.a[r][c], there ? a + (top + r) * k + start + c : a, there);
        }
#pragma unroll
        for (int u = 0; u < BK * BN / 8 / 128; u++) {
            int i = t + u * 128, r = i / (BN / 8), c = i % (BN / 8) * 8;
            bool there = start + r < k && left + c < n;
            cp_async16(&s.b[r][c], there ? b + (start + r) * n + left + c : b, there);
        }
    } else {
        const __half zero = __float2half(0.0f);
#pragma unroll 4
        for (int i = t; i < BM * BK; i += 128) {
            int r = i / BK, c = i % BK;
            s.a[r][c] = top + r < m && start + c < k ? a[(top + r) * k + start + c] : zero;
        }
#pragma unroll 4
        for (int i = t; i < BK * BN; i += 128) {
            int r = i / BN, c = i % BN;
            s.b[r][c] = start + r < k && left + c < n ? b[(start + r) * n + left + c] : zero;
        }
    }
}

template <bool COPIED>
__global__ void __launch_bounds__(128)
    matmul_ring(const __half *__restrict__ a, const __half *__restrict__ b, float *__restrict__ c, long m, long n, long k, long across) {
    __shared__ __align__(16) Stage ring[STAGES];
    const long top = blockIdx.x / across * BM, left = blockIdx.x % across * BN;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, wm = warp / 2 * 32, wn = warp % 2 * 32;
    const long slices = (k + BK - 1) / BK;
    float sums[2][4][4] = {}, totals[2][4][4] = {};

#pragma unroll
    for (int s = 0; s < STAGES - 1; s++) {
        if (s < slices) fetch<COPIED>(ring[s], a, b, m, n, k, top, left, (long)s * BK);
        cp_async_commit(); /* also an empty group, so that they can be counted */
    }
    for (long slice = 0; slice < slices; slice++) {
        cp_async_wait<STAGES - 2>(); /* all but the latest STAGES - 2 groups: this slice has come */
        __syncthreads();             /* for everybody; and everybody is done with the slice before */
        long next = slice + STAGES - 1;
        if (next < slices) fetch<COPIED>(ring[next % STAGES], a, b, m, n, k, top, left, next * BK);
        cp_async_commit();
        const Stage &s = ring[slice % STAGES];
#pragma unroll
        for (int d = 0; d < BK; d += 16) {
            uint32_t fa[2][4], fb[2][4];
#pragma unroll
            for (int i = 0; i < 2; i++) ldsm4(fa[i], &s.a[wm + i * 16 + lane % 16][d + lane / 16 * 8]);
#pragma unroll
            for (int j = 0; j < 2; j++) ldsm4t(fb[j], &s.b[d + lane % 16][wn + j * 16 + lane / 16 * 8]);
#pragma unroll
            for (int i = 0; i < 2; i++)
#pragma unroll
                for (int j = 0; j < 4; j++) mma16816(sums[i][j], fa[i], fb[j / 2][j % 2 * 2], fb[j / 2][j % 2 * 2 + 1]);
        }
        if (slice % SLICES_OF_A_SUM == SLICES_OF_A_SUM - 1 || slice == slices - 1) {
#pragma unroll
            for (int i = 0; i < 2 * 4 * 4; i++) {
                (&totals[0][0][0])[i] += (&sums[0][0][0])[i];
                (&sums[0][0][0])[i] = 0.0f;
            }
        }
    }
    cp_async_wait<0>();
#pragma unroll
    for (int i = 0; i < 2; i++) {
#pragma unroll
        for (int j = 0; j < 4; j++) {
            long row = top + wm + i * 16 + lane / 4, col = left + wn + j * 8 + lane % 4 * 2;
#pragma unroll
            for (int h = 0; h < 2; h++, row += 8) {
                if (row >= m) continue;
                if (n % 2 == 0) { /* then col + 1 is inside if col is */
                    if (col < n) *reinterpret_cast<float2 *>(c + row * n + col) = make_float2(totals[i][j][2 * h], totals[i][j][2 * h + 1]);
                } else {
                    if (col < n) c[row * n + col] = totals[i][j][2 * h];
                    if (col + 1 < n) c[row * n + col + 1] = totals[i][j][2 * h + 1];
                }
            }
        }
    }
}

} // namespace

void matmul(const __half *a, const __half *b, float *c, long m, long n, long k, cudaStream_t stream) {
    long down = (m + BM - 1) / BM, across = (n + BN - 1) / BN;
    unsigned blocks = (unsigned)(down * across); /* the grid's x dimension goes to 2^31 - 1 */
    if (n % 8 == 0 && k % 8 == 0) matmul_ring<true><<<blocks, 128, 0, stream>>>(a, b, c, m, n, k, across);
    else matmul_ring<false><<<blocks, 128, 0, stream>>>(a, b, c, m, n, k, across);
}
