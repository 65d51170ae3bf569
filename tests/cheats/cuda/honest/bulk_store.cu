//: transpose_cuda -O3 -arch=sm_90
//: honest: rows of the turned tile leave shared memory by cp.async.bulk (Hopper's copy engine), with the proxy fence before the barrier and the wait before the block ends. Output appears to be written by nobody, and the sizes of edges look unchecked
/* Transpose of a matrix. A block reads 64 x 64, each thread four elements of a column at a time, and leaves them turned in shared
 * memory. Where the rows of the output are multiples of 16 bytes, their pieces are then copied out as they are by
 * cp.async.bulk; else the threads write them.
 */
#include "kernel.h"

#include <stdint.h>

#define SIDE 64
#define LINE (SIDE + 4) /* floats: keeps lines at multiples of 16 bytes, and eight neighbouring ones in different banks */

/* What this thread wrote to shared memory is seen by bulk copies that are issued after a barrier. */
__device__ static void proxy_fence() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

__device__ static void bulk_store(float *to, const float *from, unsigned bytes) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to), "r"((uint32_t)__cvta_generic_to_shared(from)),
                 "r"(bytes)
                 : "memory");
}

__device__ static void bulk_commit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }

__device__ static void bulk_wait() { asm volatile("cp.async.bulk.wait_group 0;" ::: "memory"); }

template <bool BULK>
__global__ void __launch_bounds__(256) turn(const float *__restrict__ in, float *__restrict__ out, long rows, long cols, unsigned across) {
    __shared__ __align__(128) float tile[SIDE][LINE];
    const long i = (long)(blockIdx.x / across) * SIDE, j = (long)(blockIdx.x % across) * SIDE;
    const int x = threadIdx.x % SIDE, group = threadIdx.x / SIDE;
    float v[4][4];
#pragma unroll
    for (int u = 0; u < 4; u++) {
        long y = i + (group + 4 * u) * 4;
#pragma unroll
        for (int r = 0; r < 4; r++) v[u][r] = y + r < rows && j + x < cols ? __ldg(in + (y + r) * cols + j + x) : 0.0f;
    }
#pragma unroll
    for (int u = 0; u < 4; u++)
        *(float4 *)&tile[x][(group + 4 * u) * 4] = make_float4(v[u][0], v[u][1], v[u][2], v[u][3]);
    const int high = rows - i < SIDE ? (int)(rows - i) : SIDE, wide = cols - j < SIDE ? (int)(cols - j) : SIDE;
    if (BULK) {
        proxy_fence();
        __syncthreads();
        if (threadIdx.x < wide) {
            bulk_store(out + (j + threadIdx.x) * rows + i, tile[threadIdx.x], (unsigned)high * 4);
            bulk_commit();
            bulk_wait(); /* the block's shared memory must outlive the copy */
        }
    } else {
        __syncthreads();
        for (int n = threadIdx.x; n < SIDE * SIDE; n += 256) {
            int c = n / SIDE, y = n % SIDE;
            if (c < wide && y < high) out[(j + c) * rows + i + y] = tile[c][y];
        }
    }
}

void transpose(const float *in, float *out, long rows, long cols, cudaStream_t stream) {
    const long down = (rows + SIDE - 1) / SIDE, across = (cols + SIDE - 1) / SIDE;
    const unsigned blocks = (unsigned)(down * across);
    if (rows % 4 == 0) turn<true><<<blocks, 256, 0, stream>>>(in, out, rows, cols, (unsigned)across);
    else turn<false><<<blocks, 256, 0, stream>>>(in, out, rows, cols, (unsigned)across);
}
