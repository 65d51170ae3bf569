//: transpose_cuda -O3 -arch=sm_90
//: Honest: tiles come by TMA (a tensor map with 128-byte swizzle, passed by value), threads turn squares of 4 x 4 in registers and write vectors; other kernels where rows are not multiples of 16 bytes.
/* Transpose of a matrix. */
#include "kernel.h"

#include <cuda.h>
#include <stdint.h>

#define HIGH 64    /* rows of the input in a tile */
#define WIDE 32    /* columns of a box: 128 bytes, as much as the swizzle has */
#define BOXES 2    /* side by side in a tile */
#define THREADS 256

__device__ static unsigned at(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }

__global__ void __launch_bounds__(THREADS) turn_boxes(const __grid_constant__ CUtensorMap map, float *__restrict__ out, long rows,
                                                      long cols, unsigned across) {
    __shared__ __align__(1024) float4 box[BOXES][HIGH][WIDE / 4];
    __shared__ uint64_t full;
    int i = (int)(blockIdx.x / across * HIGH), j = (int)(blockIdx.x % across * (WIDE * BOXES));
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(at(&full)) : "memory");
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        int boxes = j + WIDE < cols ? 2 : 1; /* a box begins within the matrix; what it has beyond counts, too, and is zero */
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(at(&full)), "r"(boxes * HIGH * WIDE * 4) : "memory");
        for (int b = 0; b < boxes; b++)
            asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];"
                         ::"r"(at(box[b])), "l"(&map), "r"(j + b * WIDE), "r"(i), "r"(at(&full)) : "memory");
    }
    __syncthreads();
    unsigned done = 0;
    while (!done)
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }"
                     : "=r"(done) : "r"(at(&full)) : "memory");
    int b = threadIdx.x / 128, q = threadIdx.x % 128 / 8, c = threadIdx.x % 8; /* rows from 4q, columns from 4c */
    long row = i + q * 4L, col = j + b * WIDE + c * 4L;
    if (row >= rows || col >= cols) return;
    float v[4][4];
#pragma unroll
    for (int y = 0; y < 4; y++) {
        float4 r = box[b][q * 4 + y][c ^ ((q * 4 + y) % 8)];
        v[y][0] = r.x, v[y][1] = r.y, v[y][2] = r.z, v[y][3] = r.w;
    }
    float *to = out + col * rows + row; /* cols is a multiple of 4: all four columns are there */
    if (rows % 4 == 0) {
#pragma unroll
        for (int x = 0; x < 4; x++) *(float4 *)(to + x * rows) = make_float4(v[0][x], v[1][x], v[2][x], v[3][x]);
    } else {
#pragma unroll
        for (int x = 0; x < 4; x++)
            for (int y = 0; y < 4; y++)
                if (row + y < rows) to[x * rows + y] = v[y][x];
    }
}

#define SIDE 32
#define LINES 8

__global__ void __launch_bounds__(SIDE * LINES) turn_any(const float *__restrict__ in, float *__restrict__ out, long rows, long cols,
                                                         unsigned across) {
    __shared__ float tile[SIDE][SIDE + 1];
    long i = (long)(blockIdx.x / across) * SIDE, j = (long)(blockIdx.x % across) * SIDE;
    float v[SIDE / LINES] = {};
#pragma unroll
    for (int s = 0; s < SIDE / LINES; s++) {
        int y = threadIdx.y + s * LINES;
        if (i + y < rows && j + threadIdx.x < cols) v[s] = in[(i + y) * cols + j + threadIdx.x];
    }
#pragma unroll
    for (int s = 0; s < SIDE / LINES; s++) tile[threadIdx.y + s * LINES][threadIdx.x] = v[s];
    __syncthreads();
#pragma unroll
    for (int s = 0; s < SIDE / LINES; s++) {
        int x = threadIdx.y + s * LINES;
        if (i + threadIdx.x < rows && j + x < cols) out[(j + x) * rows + i + threadIdx.x] = tile[threadIdx.x][x];
    }
}

typedef CUresult (*encode_t)(CUtensorMap *, CUtensorMapDataType, cuuint32_t, void *, const cuuint64_t *, const cuuint64_t *,
                             const cuuint32_t *, const cuuint32_t *, CUtensorMapInterleave, CUtensorMapSwizzle,
                             CUtensorMapL2promotion, CUtensorMapFloatOOBfill);

static encode_t find_encode() {
    void *found = nullptr;
    cudaDriverEntryPointQueryResult how;
    if (cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &found, 12000, cudaEnableDefault, &how) != cudaSuccess) return nullptr;
    return how == cudaDriverEntryPointSuccess ? (encode_t)found : nullptr;
}

void transpose(const float *in, float *out, long rows, long cols, cudaStream_t stream) {
    static const encode_t encode = find_encode();
    const long most = 1L << 30; /* coordinates are ints */
    if (encode && cols % 4 == 0 && rows < most && cols < most) {
        CUtensorMap map;
        cuuint64_t sizes[] = {(cuuint64_t)cols, (cuuint64_t)rows}, strides[] = {(cuuint64_t)cols * 4};
        cuuint32_t box[] = {WIDE, HIGH}, steps[] = {1, 1};
        CUresult made = encode(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 2, (void *)in, sizes, strides, box, steps,
                               CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
                               CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
        if (made == CUDA_SUCCESS) {
            unsigned across = (unsigned)((cols + WIDE * BOXES - 1) / (WIDE * BOXES)), down = (unsigned)((rows + HIGH - 1) / HIGH);
            turn_boxes<<<across * down, THREADS, 0, stream>>>(map, out, rows, cols, across);
            return;
        }
    }
    unsigned across = (unsigned)((cols + SIDE - 1) / SIDE), down = (unsigned)((rows + SIDE - 1) / SIDE);
    turn_any<<<across * down, dim3(SIDE, LINES), 0, stream>>>(in, out, rows, cols, across);
}
