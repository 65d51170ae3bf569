//: transpose_cuda -O3 -arch=sm_90
//: bug (memory model): rows of the turned tile are copied out by cp.async.bulk after a barrier, but without fence.proxy.async; the barrier orders the threads' own stores and loads, not those of the asynchronous proxy, so the copy may take shared memory as it was before. It practically never shows
/* Transpose of a matrix: a block reads 128 rows of 32 columns and turns them in shared memory, and the copy engine writes the 32
 * pieces of the output's rows, half a kilobyte each. Where those are not multiples of 16 bytes, the threads do.
 */
#include "kernel.h"

#include <stdint.h>

#define HIGH 128
#define WIDE 32
#define LINE (HIGH + 4)
#define THREADS 256

__device__ static void bulk_store(float *to, const float *from, unsigned bytes) {
    uint32_t shared = (uint32_t)__cvta_generic_to_shared(from);
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to), "r"(shared), "r"(bytes) : "memory");
}
__device__ static void bulk_commit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
__device__ static void bulk_wait() { asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory"); }

__global__ void __launch_bounds__(THREADS)
    transpose_bulk(const float *__restrict__ in, float *__restrict__ out, long rows, long cols, unsigned across, bool bulk) {
    __shared__ __align__(128) float tile[WIDE][LINE];
    const long i = (long)(blockIdx.x / across) * HIGH, j = (long)(blockIdx.x % across) * WIDE;
    const int x = threadIdx.x % WIDE, fours = threadIdx.x / WIDE;
    float v[4][4];
#pragma unroll
    for (int u = 0; u < 4; u++)
#pragma unroll
        for (int r = 0; r < 4; r++) {
            long y = i + (fours + u * 8) * 4 + r;
            v[u][r] = y < rows && j + x < cols ? __ldcs(in + y * cols + j + x) : 0.0f;
        }
#pragma unroll
    for (int u = 0; u < 4; u++) *(float4 *)&tile[x][(fours + u * 8) * 4] = make_float4(v[u][0], v[u][1], v[u][2], v[u][3]);
    __syncthreads(); /* the tile is complete */
    const long high = rows - i < HIGH ? rows - i : HIGH;
    if (bulk) {
        if (threadIdx.x < WIDE && j + threadIdx.x < cols) {
            bulk_store(out + (j + threadIdx.x) * rows + i, tile[threadIdx.x], (unsigned)(high * sizeof(float)));
            bulk_commit();
            bulk_wait(); /* the tile must stay until it has been read */
        }
    } else {
        for (int n = threadIdx.x; n < HIGH * WIDE; n += THREADS) {
            int y = n % HIGH, c = n / HIGH;
            if (y < high && j + c < cols) out[(j + c) * rows + i + y] = tile[c][y];
        }
    }
}

void transpose(const float *in, float *out, long rows, long cols, cudaStream_t stream) {
    const long down = (rows + HIGH - 1) / HIGH, across = (cols + WIDE - 1) / WIDE;
    transpose_bulk<<<(unsigned)(down * across), THREADS, 0, stream>>>(in, out, rows, cols, (unsigned)across, rows % 4 == 0);
}
