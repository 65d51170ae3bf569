//: transpose_cuda -O3
//: Style: turned tiles in shared memory, sent with bulk asynchronous copies (proxy fence, group waits) where rows are multiples of 16 bytes; plain padded tiles otherwise.
#include "kernel.h"

constexpr int kSide = 64, kThreads = 256, kSteps = kSide * kSide / kThreads;

/* Reads the tile at (i, j) along the rows of the input; all loads are under way at once. */
__device__ __forceinline__ void tile_in(float (*tile)[kSide + 1], const float *__restrict__ in, long rows, long cols, long i, long j) {
    int x = threadIdx.x % kSide, y = threadIdx.x / kSide;
    float v[kSteps];
#pragma unroll
    for (int s = 0; s < kSteps; s++) {
        long r = i + y + s * (kThreads / kSide);
        v[s] = r < rows && j + x < cols ? __ldcs(in + r * cols + j + x) : 0.0f;
    }
#pragma unroll
    for (int s = 0; s < kSteps; s++) tile[y + s * (kThreads / kSide)][x] = v[s];
}

/* Writes it along the rows of the output. */
__device__ __forceinline__ void tile_out(float (*tile)[kSide + 1], float *__restrict__ out, long rows, long cols, long i, long j) {
    int x = threadIdx.x % kSide, y = threadIdx.x / kSide;
    float v[kSteps];
#pragma unroll
    for (int s = 0; s < kSteps; s++) v[s] = tile[x][y + s * (kThreads / kSide)];
#pragma unroll
    for (int s = 0; s < kSteps; s++) {
        long c = j + y + s * (kThreads / kSide);
        if (c < cols && i + x < rows) out[c * rows + i + x] = v[s];
    }
}

__global__ void __launch_bounds__(kThreads) turn_tiles(const float *__restrict__ in, float *__restrict__ out, long rows, long cols, unsigned across) {
    __shared__ float tile[kSide][kSide + 1];
    long i = (long)(blockIdx.x / across) * kSide, j = (long)(blockIdx.x % across) * kSide;
    tile_in(tile, in, rows, cols, i, j);
    __syncthreads();
    tile_out(tile, out, rows, cols, i, j);
}

constexpr int kPitch = kSide + 4; /* floats, so that a row begins at a multiple of 16 bytes */

/* The tile is turned on its way into shared memory, from which whole rows of the output are sent by bulk copies. */
__global__ void __launch_bounds__(kThreads) turn_in_bulk(const float *__restrict__ in, float *__restrict__ out, long rows, long cols, unsigned across) {
    __shared__ alignas(128) float turned[kSide][kPitch];
    long i = (long)(blockIdx.x / across) * kSide, j = (long)(blockIdx.x % across) * kSide;
    int x = threadIdx.x % kSide, y = threadIdx.x / kSide;
    float v[kSteps];
#pragma unroll
    for (int s = 0; s < kSteps; s++) {
        long r = i + y + s * (kThreads / kSide);
        v[s] = r < rows && j + x < cols ? __ldcs(in + r * cols + j + x) : 0.0f;
    }
#pragma unroll
    for (int s = 0; s < kSteps; s++) turned[x][y + s * (kThreads / kSide)] = v[s];
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); /* what was written above is for the asynchronous proxy */
    __syncthreads();
    if (threadIdx.x < kSide && j + threadIdx.x < cols) {
        unsigned from = (unsigned)__cvta_generic_to_shared(&turned[threadIdx.x][0]);
        unsigned bytes = (unsigned)(rows - i < kSide ? rows - i : kSide) * 4;
        float *to = out + (j + threadIdx.x) * rows + i;
        asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to), "r"(from), "r"(bytes) : "memory");
        asm volatile("cp.async.bulk.commit_group;" ::: "memory");
        asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory"); /* shared memory must outlast the reads */
    }
}

void transpose(const float *in, float *out, long rows, long cols, cudaStream_t stream) {
    unsigned across = (unsigned)((cols + kSide - 1) / kSide), down = (unsigned)((rows + kSide - 1) / kSide);
    if (rows % 4 == 0) turn_in_bulk<<<down * across, kThreads, 0, stream>>>(in, out, rows, cols, across); /* multiples of 16 bytes */
    else turn_tiles<<<down * across, kThreads, 0, stream>>>(in, out, rows, cols, across);
}
