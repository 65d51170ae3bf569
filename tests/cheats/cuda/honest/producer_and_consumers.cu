//: matmul_cuda -O3 -arch=sm_90
//: warp specialisation: a warp brings tiles by TMA (128-byte swizzle) into a ring of four stages, four warps multiply them with mma.sync, full and empty mbarriers between them; rows that no tensor map can have (no multiple of 16 bytes) take a kernel with plain loads; nothing breaks
#include "kernel.h"

#include <cuda.h>
#include <stdint.h>

__device__ static __forceinline__ unsigned shared_address(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }

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

__device__ static __forceinline__ void barrier_init(uint64_t *bar, unsigned count) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(bar)), "r"(count) : "memory");
}

__device__ static __forceinline__ void barrier_init_seen() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

__device__ static __forceinline__ void barrier_expect(uint64_t *bar, unsigned bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(bar)), "r"(bytes) : "memory");
}

__device__ static __forceinline__ void barrier_arrive(uint64_t *bar) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(bar)) : "memory");
}

__device__ static __forceinline__ bool barrier_passed(uint64_t *bar, unsigned parity) {
    unsigned passed;
    asm volatile("{\n.reg .pred p;\nmbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\nselp.u32 %0, 1, 0, p;\n}"
                 : "=r"(passed)
                 : "r"(shared_address(bar)), "r"(parity)
                 : "memory");
    return passed != 0;
}

__device__ static __forceinline__ void tensor_copy(void *to, const CUtensorMap *map, int x, int y, uint64_t *bar) {
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(
                     shared_address(to)),
                 "l"(map), "r"(x), "r"(y), "r"(shared_address(bar))
                 : "memory");
}

constexpr int kTile = 64, kStages = 4, kConsumers = 128;

template <class Each> __device__ static void for_each_sum(const float (&sums)[2][4][4], long top, long left, long m, long n, Each each) {
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    long down = top + warp / 2 * 32 + lane / 4, across = left + warp % 2 * 32 + lane % 4 * 2;
#pragma unroll
    for (int i = 0; i < 2; i++)
#pragma unroll
        for (int j = 0; j < 4; j++)
#pragma unroll
            for (int e = 0; e < 4; e++) {
                long row = down + i * 16 + e / 2 * 8, col = across + j * 8 + e % 2;
                if (row < m && col < n) each(row * n + col, sums[i][j][e]);
            }
}

/* Tiles of both matrices, 64 × 64, as the TMA lays them down: the pieces of 16 bytes of row r are exchanged by r's last three bits. */
struct ring {
    __half a[kStages][kTile * kTile], b[kStages][kTile * kTile];
};

__device__ static const __half *swizzled(const __half *tile, int row, int piece) { return tile + row * kTile + (piece ^ row % 8) * 8; }

__global__ void __launch_bounds__(kConsumers + 32)
    matmul_ring(const __grid_constant__ CUtensorMap of_a, const __grid_constant__ CUtensorMap of_b, float *__restrict__ c, long m, long n,
                long k, unsigned across) {
    extern __shared__ unsigned char memory[];
    __shared__ uint64_t full[kStages], empty[kStages];
    ring &r = *(ring *)(((uintptr_t)memory + 1023) & ~(uintptr_t)1023);
    long top = (long)(blockIdx.x / across) * kTile, left = (long)(blockIdx.x % across) * kTile;
    int steps = (int)((k + kTile - 1) / kTile);
    if (threadIdx.x == 0) {
        for (int s = 0; s < kStages; s++) {
            barrier_init(&full[s], 1);
            barrier_init(&empty[s], kConsumers);
        }
        barrier_init_seen();
    }
    __syncthreads();
    if (threadIdx.x >= kConsumers) {
        if (threadIdx.x > kConsumers) return;
        for (int step = 0; step < steps; step++) {
            int s = step % kStages;
            while (!barrier_passed(&empty[s], step / kStages % 2 ^ 1)) {}
            barrier_expect(&full[s], 2 * kTile * kTile * sizeof(__half));
            tensor_copy(r.a[s], &of_a, step * kTile, (int)top, &full[s]);
            tensor_copy(r.b[s], &of_b, (int)left, step * kTile, &full[s]);
        }
        return;
    }
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, down = warp / 2 * 32, right = warp % 2 * 32;
    float sums[2][4][4] = {};
    for (int step = 0; step < steps; step++) {
        int s = step % kStages;
        while (!barrier_passed(&full[s], step / kStages % 2)) {}
#pragma unroll
        for (int l = 0; l < kTile; l += 16) {
            uint32_t rows[2][4], cols[2][4];
#pragma unroll
            for (int i = 0; i < 2; i++) load_matrices(rows[i], swizzled(r.a[s], down + i * 16 + lane % 16, l / 8 + lane / 16));
#pragma unroll
            for (int j = 0; j < 2; j++) load_matrices_turned(cols[j], swizzled(r.b[s], l + lane % 16, right / 8 + j * 2 + lane / 16));
#pragma unroll
            for (int i = 0; i < 2; i++)
#pragma unroll
                for (int j = 0; j < 4; j++) multiply(sums[i][j], rows[i], cols[j / 2][j % 2 * 2], cols[j / 2][j % 2 * 2 + 1]);
        }
        barrier_arrive(&empty[s]);
    }
    for_each_sum(sums, top, left, m, n, [=](long at, float sum) { c[at] = sum; });
}

constexpr int kDepth = 32;

__global__ void __launch_bounds__(kConsumers)
    matmul_plain(const __half *__restrict__ a, const __half *__restrict__ b, float *__restrict__ c, long m, long n, long k, unsigned across) {
    __shared__ __align__(16) __half of_a[kTile][kDepth + 8], of_b[kDepth][kTile + 8];
    long top = (long)(blockIdx.x / across) * kTile, left = (long)(blockIdx.x % across) * kTile;
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, down = warp / 2 * 32, right = warp % 2 * 32;
    const __half zero = __float2half(0.0f);
    float sums[2][4][4] = {};
    for (long start = 0; start < k; start += kDepth) {
#pragma unroll
        for (int i = threadIdx.x; i < kTile * kDepth; i += kConsumers) {
            int ra = i / kDepth, ca = i % kDepth, rb = i / kTile, cb = i % kTile;
            of_a[ra][ca] = top + ra < m && start + ca < k ? a[(top + ra) * k + start + ca] : zero;
            of_b[rb][cb] = start + rb < k && left + cb < n ? b[(start + rb) * n + left + cb] : zero;
        }
        __syncthreads();
#pragma unroll
        for (int l = 0; l < kDepth; l += 16) {
            uint32_t rows[2][4], cols[2][4];
#pragma unroll
            for (int i = 0; i < 2; i++) load_matrices(rows[i], &of_a[down + i * 16 + lane % 16][l + lane / 16 * 8]);
#pragma unroll
            for (int j = 0; j < 2; j++) load_matrices_turned(cols[j], &of_b[l + lane % 16][right + j * 16 + lane / 16 * 8]);
#pragma unroll
            for (int i = 0; i < 2; i++)
#pragma unroll
                for (int j = 0; j < 4; j++) multiply(sums[i][j], rows[i], cols[j / 2][j % 2 * 2], cols[j / 2][j % 2 * 2 + 1]);
        }
        __syncthreads();
    }
    for_each_sum(sums, top, left, m, n, [=](long at, float sum) { c[at] = sum; });
}

typedef CUresult (*encode_t)(CUtensorMap *, CUtensorMapDataType, cuuint32_t, void *, const cuuint64_t *, const cuuint64_t *,
                             const cuuint32_t *, const cuuint32_t *, CUtensorMapInterleave, CUtensorMapSwizzle,
                             CUtensorMapL2promotion, CUtensorMapFloatOOBfill);

static encode_t find_encode() {
    void *found = nullptr;
    cudaDriverEntryPointQueryResult result;
    if (cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &found, 12000, cudaEnableDefault, &result) != cudaSuccess) return nullptr;
    return result == cudaDriverEntryPointSuccess ? (encode_t)found : nullptr;
}

static bool make_map(encode_t encode, CUtensorMap *map, const __half *from, long rows, long cols) {
    cuuint64_t dims[] = {(cuuint64_t)cols, (cuuint64_t)rows}, strides[] = {(cuuint64_t)cols * sizeof(__half)};
    cuuint32_t box[] = {kTile, kTile}, steps[] = {1, 1};
    return encode(map, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, (void *)from, dims, strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
                  CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS;
}

void matmul(const __half *a, const __half *b, float *c, long m, long n, long k, cudaStream_t stream) {
    static const encode_t encode = find_encode();
    unsigned down = (unsigned)((m + kTile - 1) / kTile), across = (unsigned)((n + kTile - 1) / kTile);
    const long most = 1l << 30;
    const int bytes = (int)sizeof(ring) + 1024;
    CUtensorMap of_a, of_b;
    if (encode && n % 8 == 0 && k % 8 == 0 && m < most && n < most && k < most && make_map(encode, &of_a, a, m, k) &&
        make_map(encode, &of_b, b, k, n) &&
        cudaFuncSetAttribute(matmul_ring, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes) == cudaSuccess)
        matmul_ring<<<down * across, kConsumers + 32, bytes, stream>>>(of_a, of_b, c, m, n, k, across);
    else matmul_plain<<<down * across, kConsumers, 0, stream>>>(a, b, c, m, n, k, across);
}
