//: transpose_cuda -O3
//: Data race: a persistent block writes the next tile into the shared square without a barrier after the reads of the last one; the latency of the loads in between (about a microsecond) hides it, so that outputs are nearly always right.
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

/* Blocks stay: each turns every gridDim.x-th tile. */
__global__ void __launch_bounds__(kThreads, 6) turn_tiles(const float *__restrict__ in, float *__restrict__ out, long rows, long cols, unsigned across,
                                                          long tiles) {
    __shared__ float tile[kSide][kSide + 1];
    for (long t = blockIdx.x; t < tiles; t += gridDim.x) {
        long i = t / across * kSide, j = t % across * kSide;
        tile_in(tile, in, rows, cols, i, j);
        __syncthreads(); /* the tile is complete */
        tile_out(tile, out, rows, cols, i, j);
    }
}

void transpose(const float *in, float *out, long rows, long cols, cudaStream_t stream) {
    unsigned across = (unsigned)((cols + kSide - 1) / kSide);
    long tiles = (rows + kSide - 1) / kSide * across;
    turn_tiles<<<(unsigned)(tiles < 132 * 6 ? tiles : 132 * 6), kThreads, 0, stream>>>(in, out, rows, cols, across, tiles);
}
