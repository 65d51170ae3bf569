//: matmul_cuda -O3 -arch=sm_90
//: cp.async in four stages, ldmatrix and mma.sync with sums in float, two sizes of tiles as templates; any shape, deterministic; nothing breaks
#include "kernel.h"

#include <stdint.h>

__device__ static __forceinline__ unsigned shared_address(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }

/* Sixteen bytes from global to shared memory, or as many zeros. */
__device__ static __forceinline__ void copy16(void *to, const void *from, bool wanted) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(to)), "l"(from), "r"(wanted ? 16 : 0)
                 : "memory");
}

__device__ static __forceinline__ void commit_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }

template <int LEFT> __device__ static __forceinline__ void wait_for_copies() {
    asm volatile("cp.async.wait_group %0;" ::"n"(LEFT) : "memory");
}

__device__ static __forceinline__ void load_matrices(uint32_t (&r)[4], const void *from) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(shared_address(from))
                 : "memory");
}

__device__ static __forceinline__ void load_matrices_turned(uint32_t (&r)[4], const void *from) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(shared_address(from))
                 : "memory");
}

__device__ static __forceinline__ void multiply(float (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

constexpr int kDepth = 32, kStages = 4;

/* A block has TILE × TILE of the product, a warp of it 32 rows and 32 or 64 columns. */
template <int TILE> struct stage {
    alignas(16) __half a[TILE][kDepth + 8];
    alignas(16) __half b[kDepth][TILE + 8];
};

template <int TILE, int THREADS, bool ALIGNED>
__device__ static void load_stage(stage<TILE> &s, const __half *a, const __half *b, long top, long left, long start, long m, long n,
                                  long k) {
    if constexpr (ALIGNED) {
#pragma unroll
        for (int i = threadIdx.x; i < TILE * kDepth / 8; i += THREADS) {
            int r = i / (kDepth / 8), c = i % (kDepth / 8) * 8;
            bool in = top + r < m && start + c < k;
            copy16(&s.a[r][c], in ? a + (top + r) * k + start + c : a, in);
        }
#pragma unroll
        for (int i = threadIdx.x; i < kDepth * TILE / 8; i += THREADS) {
            int r = i / (TILE / 8), c = i % (TILE / 8) * 8;
            bool in = start + r < k && left + c < n;
            copy16(&s.b[r][c], in ? b + (start + r) * n + left + c : b, in);
        }
    } else {
        const __half zero = __float2half(0.0f);
#pragma unroll 8
        for (int i = threadIdx.x; i < TILE * kDepth; i += THREADS) {
            int r = i / kDepth, c = i % kDepth;
            s.a[r][c] = top + r < m && start + c < k ? a[(top + r) * k + start + c] : zero;
        }
#pragma unroll 8
        for (int i = threadIdx.x; i < kDepth * TILE; i += THREADS) {
            int r = i / TILE, c = i % TILE;
            s.b[r][c] = start + r < k && left + c < n ? b[(start + r) * n + left + c] : zero;
        }
    }
}

template <int TILE, int COLS, bool ALIGNED>
__global__ void __launch_bounds__(TILE / 32 * (TILE / COLS) * 32)
    matmul_tiles(const __half *__restrict__ a, const __half *__restrict__ b, float *__restrict__ c, long m, long n, long k, unsigned across) {
    constexpr int kThreads = TILE / 32 * (TILE / COLS) * 32;
    extern __shared__ __align__(16) unsigned char memory[];
    stage<TILE> *stages = (stage<TILE> *)memory;
    long top = (long)(blockIdx.x / across) * TILE, left = (long)(blockIdx.x % across) * TILE;
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int warp_row = warp / (TILE / COLS) * 32, warp_col = warp % (TILE / COLS) * COLS;
    float sums[2][COLS / 8][4] = {};
    long steps = (k + kDepth - 1) / kDepth;
#pragma unroll
    for (int s = 0; s < kStages - 1; s++) {
        if (s < steps) load_stage<TILE, kThreads, ALIGNED>(stages[s], a, b, top, left, (long)s * kDepth, m, n, k);
        commit_copies();
    }
    for (long step = 0; step < steps; step++) {
        wait_for_copies<kStages - 2>();
        __syncthreads();
        long next = step + kStages - 1;
        if (next < steps) load_stage<TILE, kThreads, ALIGNED>(stages[next % kStages], a, b, top, left, next * kDepth, m, n, k);
        commit_copies();
        const stage<TILE> &s = stages[step % kStages];
#pragma unroll
        for (int l = 0; l < kDepth; l += 16) {
            uint32_t of_a[2][4], of_b[COLS / 16][4];
#pragma unroll
            for (int i = 0; i < 2; i++) load_matrices(of_a[i], &s.a[warp_row + i * 16 + lane % 16][l + lane / 16 * 8]);
#pragma unroll
            for (int j = 0; j < COLS / 16; j++)
                load_matrices_turned(of_b[j], &s.b[l + lane % 16][warp_col + j * 16 + lane / 16 * 8]);
#pragma unroll
            for (int i = 0; i < 2; i++)
#pragma unroll
                for (int j = 0; j < COLS / 8; j++) multiply(sums[i][j], of_a[i], of_b[j / 2][j % 2 * 2], of_b[j / 2][j % 2 * 2 + 1]);
        }
    }
    bool pairs = n % 2 == 0;
#pragma unroll
    for (int i = 0; i < 2; i++) {
#pragma unroll
        for (int j = 0; j < COLS / 8; j++) {
#pragma unroll
            for (int e = 0; e < 4; e += 2) {
                long row = top + warp_row + i * 16 + lane / 4 + e / 2 * 8, col = left + warp_col + j * 8 + lane % 4 * 2;
                if (row >= m || col >= n) continue;
                float *to = c + row * n + col;
                if (pairs) *(float2 *)to = make_float2(sums[i][j][e], sums[i][j][e + 1]);
                else {
                    to[0] = sums[i][j][e];
                    if (col + 1 < n) to[1] = sums[i][j][e + 1];
                }
            }
        }
    }
}

template <int TILE, int COLS, bool ALIGNED>
static void launch(const __half *a, const __half *b, float *c, long m, long n, long k, cudaStream_t stream) {
    constexpr int kThreads = TILE / 32 * (TILE / COLS) * 32, kBytes = kStages * (int)sizeof(stage<TILE>);
    unsigned down = (unsigned)((m + TILE - 1) / TILE), across = (unsigned)((n + TILE - 1) / TILE);
    if (kBytes > 48 * 1024)
        cudaFuncSetAttribute(matmul_tiles<TILE, COLS, ALIGNED>, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes);
    matmul_tiles<TILE, COLS, ALIGNED><<<down * across, kThreads, kBytes, stream>>>(a, b, c, m, n, k, across);
}

void matmul(const __half *a, const __half *b, float *c, long m, long n, long k, cudaStream_t stream) {
    bool aligned = n % 8 == 0 && k % 8 == 0, large = (m + 127) / 128 * ((n + 127) / 128) >= 132;
    if (aligned && large) launch<128, 64, true>(a, b, c, m, n, k, stream);
    else if (aligned) launch<64, 32, true>(a, b, c, m, n, k, stream);
    else launch<64, 32, false>(a, b, c, m, n, k, stream);
}
