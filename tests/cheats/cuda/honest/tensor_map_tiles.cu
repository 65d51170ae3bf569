//: transpose_cuda -O3 -arch=sm_90
//: persistent blocks (occupancy API) turn tiles that the TMA brings into swizzled shared memory, two at a time, with mbarriers; where a row is no multiple of 16 bytes, or too much for a tensor map, a kernel with a padded tile; nothing breaks
#include "kernel.h"

#include <cuda.h>
#include <stdint.h>

constexpr int kTile = 64, kThreads = 256;

/* The tile at (i, j), or what there is of it. VECTORS: rows and cols are multiples of 4. */
template <bool VECTORS>
__device__ static void read_tile(float (&tile)[kTile][kTile + 1], const float *__restrict__ in, long rows, long cols, long i, long j) {
    if (VECTORS) {
        float4 v[4];
        int x = threadIdx.x % 16 * 4, top = threadIdx.x / 16;
#pragma unroll
        for (int s = 0; s < 4; s++) {
            int y = top + s * 16;
            v[s] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
            if (i + y < rows && j + x < cols) v[s] = *(const float4 *)(in + (i + y) * cols + j + x);
        }
#pragma unroll
        for (int s = 0; s < 4; s++) {
            float *to = &tile[top + s * 16][x];
            to[0] = v[s].x;
            to[1] = v[s].y;
            to[2] = v[s].z;
            to[3] = v[s].w;
        }
    } else {
        int x = threadIdx.x % 64, top = threadIdx.x / 64;
        float v[16];
#pragma unroll
        for (int s = 0; s < 16; s++) {
            int y = top + s * 4;
            v[s] = i + y < rows && j + x < cols ? in[(i + y) * cols + j + x] : 0.0f;
        }
#pragma unroll
        for (int s = 0; s < 16; s++) tile[top + s * 4][x] = v[s];
    }
}

template <bool VECTORS>
__device__ static void write_tile(const float (&tile)[kTile][kTile + 1], float *__restrict__ out, long rows, long cols, long i, long j) {
    if (VECTORS) {
        int y = threadIdx.x % 16 * 4, left = threadIdx.x / 16;
#pragma unroll
        for (int s = 0; s < 4; s++) {
            int x = left + s * 16;
            float4 v = make_float4(tile[y][x], tile[y + 1][x], tile[y + 2][x], tile[y + 3][x]);
            if (i + y < rows && j + x < cols) __stwb((float4 *)(out + (j + x) * rows + i + y), v);
        }
    } else {
        int y = threadIdx.x % 64, left = threadIdx.x / 64;
#pragma unroll
        for (int s = 0; s < 16; s++) {
            int x = left + s * 4;
            if (i + y < rows && j + x < cols) out[(j + x) * rows + i + y] = tile[y][x];
        }
    }
}

template <bool VECTORS>
__global__ void __launch_bounds__(kThreads)
    transpose_tiles(const float *__restrict__ in, float *__restrict__ out, long rows, long cols, unsigned across) {
    __shared__ float tile[kTile][kTile + 1];
    long i = (long)(blockIdx.x / across) * kTile, j = (long)(blockIdx.x % across) * kTile;
    read_tile<VECTORS>(tile, in, rows, cols, i, j);
    __syncthreads();
    write_tile<VECTORS>(tile, out, rows, cols, i, j);
}

__device__ static __forceinline__ unsigned shared_address(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }

__device__ static __forceinline__ void barrier_init(uint64_t *bar, unsigned count) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(bar)), "r"(count) : "memory");
}

__device__ static __forceinline__ void barrier_init_seen() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

__device__ static __forceinline__ void barrier_expect(uint64_t *bar, unsigned bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(bar)), "r"(bytes) : "memory");
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

constexpr int kWide = 32, kHigh = 128, kBuffers = 3; /* of a tile of the input, whose rows are 128 bytes */

/* Where the swizzle of 128 bytes puts an element: the pieces of 16 bytes of row y are exchanged by y's last three bits. */
__device__ static int swizzled(int y, int x) { return y * kWide + ((x / 4) ^ (y % 8)) * 4 + x % 4; }

__global__ void __launch_bounds__(kThreads)
    transpose_stream(const __grid_constant__ CUtensorMap map, float *__restrict__ out, long rows, long cols, long tiles, long across) {
    extern __shared__ unsigned char memory[];
    __shared__ uint64_t full[kBuffers];
    float *buffers = (float *)(((uintptr_t)memory + 1023) & ~(uintptr_t)1023);
    if (threadIdx.x == 0) {
        for (int b = 0; b < kBuffers; b++) barrier_init(&full[b], 1);
        barrier_init_seen();
    }
    __syncthreads();
    auto request = [&](long tile, int b) {
        barrier_expect(&full[b], kWide * kHigh * 4);
        tensor_copy(buffers + b * kWide * kHigh, &map, (int)(tile % across * kWide), (int)(tile / across * kHigh), &full[b]);
    };
    if (threadIdx.x == 0)
        for (int b = 0; b < kBuffers; b++)
            if (blockIdx.x + (long)b * gridDim.x < tiles) request(blockIdx.x + (long)b * gridDim.x, b);
    int b = 0;
    unsigned parity = 0;
    for (long tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        const float *from = buffers + b * kWide * kHigh;
        while (!barrier_passed(&full[b], parity)) {}
        long i = tile / across * kHigh, j = tile % across * kWide;
        int y = threadIdx.x % kHigh, left = threadIdx.x / kHigh;
        if (i + y < rows) {
#pragma unroll
            for (int s = 0; s < kWide * kHigh / kThreads; s++) {
                int x = left + s * (kThreads / kHigh);
                if (j + x < cols) out[(j + x) * rows + i + y] = from[swizzled(y, x)];
            }
        }
        __syncthreads(); /* all have read the buffer */
        long next = tile + (long)kBuffers * gridDim.x;
        if (threadIdx.x == 0 && next < tiles) request(next, b);
        if (++b == kBuffers) {
            b = 0;
            parity ^= 1;
        }
    }
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

void transpose(const float *in, float *out, long rows, long cols, cudaStream_t stream) {
    static const encode_t encode = find_encode();
    const long most = 1l << 31;
    if (encode && cols % 4 == 0 && rows < most && cols < most && rows * cols >= 1 << 16) {
        CUtensorMap map;
        cuuint64_t dims[] = {(cuuint64_t)cols, (cuuint64_t)rows}, strides[] = {(cuuint64_t)cols * 4};
        cuuint32_t box[] = {kWide, kHigh}, steps[] = {1, 1};
        CUresult made = encode(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 2, (void *)in, dims, strides, box, steps,
                               CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
                               CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
        const int bytes = kBuffers * kWide * kHigh * 4 + 1024;
        int device = 0, processors = 0, each = 0;
        if (made == CUDA_SUCCESS && cudaGetDevice(&device) == cudaSuccess &&
            cudaFuncSetAttribute(transpose_stream, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes) == cudaSuccess &&
            cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device) == cudaSuccess &&
            cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, transpose_stream, kThreads, bytes) == cudaSuccess && each > 0) {
            long across = (cols + kWide - 1) / kWide, tiles = across * ((rows + kHigh - 1) / kHigh), most_blocks = (long)processors * each;
            transpose_stream<<<(unsigned)(tiles < most_blocks ? tiles : most_blocks), kThreads, bytes, stream>>>(map, out, rows, cols,
                                                                                                              tiles, across);
            return;
        }
    }
    unsigned down = (unsigned)((rows + kTile - 1) / kTile), across = (unsigned)((cols + kTile - 1) / kTile);
    if (rows % 4 == 0 && cols % 4 == 0) transpose_tiles<true><<<down * across, kThreads, 0, stream>>>(in, out, rows, cols, across);
    else transpose_tiles<false><<<down * across, kThreads, 0, stream>>>(in, out, rows, cols, across);
}
