//: matmul_cuda -O3 -arch=sm_90
//: Honest: k is split over a cluster of 4 blocks, whose partial tiles are added in a fixed order through distributed shared memory; mma.sync with float sums; any size.
/* Product of two matrices in half precision on the tensor cores. */
#include "kernel.h"
#include <stdint.h>
#include <cooperative_groups.h>
#define SPLIT 4    /* blocks of a cluster, that share k */

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

template <bool ALIGNED> __global__ void __launch_bounds__(THREADS) __cluster_dims__(SPLIT, 1, 1)
    matmul_tc(const __half *__restrict__ a, const __half *__restrict__ b, float *__restrict__ c, long m, long n, long k) {
    __shared__ __align__(128) tiles t;
    long across = (n + BN - 1) / BN, tile = blockIdx.x / SPLIT, top = tile / across * BM, left = tile % across * BN;
    long all = (k + BK - 1) / BK;
    cooperative_groups::cluster_group cluster = cooperative_groups::this_cluster();
    long each = (all + SPLIT - 1) / SPLIT, first = (long)cluster.block_rank() * each, steps = all - first < each ? all - first : each;
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
    asm volatile("cp.async.wait_group 0;" ::: "memory");
    __syncthreads(); /* nobody reads the tiles any more: the partial sums take their place */
    static_assert(sizeof(tiles) >= BM * BN * sizeof(float), "room for the sums");
    float *mine = (float *)&t;
#pragma unroll
    for (int i = 0; i < 2; i++)
#pragma unroll
        for (int j = 0; j < 4; j++)
#pragma unroll
            for (int e = 0; e < 4; e++)
                mine[(wm + i * 16 + lane / 4 + e / 2 * 8) * BN + wn + j * 8 + lane % 4 * 2 + e % 2] = total[i][j][e];
    cluster.sync();
    const float *part[SPLIT];
    for (int s = 0; s < SPLIT; s++) part[s] = cluster.map_shared_rank(mine, s);
    const int share = BM / SPLIT;
    for (int e = threadIdx.x; e < share * BN; e += THREADS) {
        int y = (int)cluster.block_rank() * share + e / BN, x = e % BN;
        float sum = part[0][y * BN + x];
        for (int s = 1; s < SPLIT; s++) sum += part[s][y * BN + x];
        if (top + y < m && left + x < n) c[(top + y) * n + left + x] = sum;
    }
    cluster.sync(); /* a block's shared memory lives until all have read it */
}

void matmul(const __half *a, const __half *b, float *c, long m, long n, long k, cudaStream_t stream) {
    unsigned blocks = (unsigned)(((m + BM - 1) / BM) * ((n + BN - 1) / BN));
    if (n % 8 == 0 && k % 8 == 0) matmul_tc<true><<<blocks * SPLIT, THREADS, 0, stream>>>(a, b, c, m, n, k);
    else matmul_tc<false><<<blocks * SPLIT, THREADS, 0, stream>>>(a, b, c, m, n, k);
}
