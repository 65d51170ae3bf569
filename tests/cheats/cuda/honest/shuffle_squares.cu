//: transpose_cuda -O3 -arch=sm_90
//: honest: a warp turns 32x32 in its registers by a butterfly of shuffles, no shared memory and no barrier. Looks as if lanes at the edges left before the shuffles; whole warps do, single lanes never
/* Transpose of a matrix without shared memory: a warp reads 32 rows of 32 elements, lane by lane along the rows, exchanges the
 * off-diagonal halves of the square, of its quarters and so on by shuffles, and then has columns where it had rows.
 */
#include "kernel.h"

#define WARPS 8 /* of a block: squares one below another, so that the block writes long pieces of the output's rows */

__global__ void __launch_bounds__(32 * WARPS)
    transpose_in_registers(const float *__restrict__ in, float *__restrict__ out, long rows, long cols, unsigned across) {
    const int lane = threadIdx.x % 32;
    const long i = ((long)(blockIdx.x / across) * WARPS + threadIdx.x / 32) * 32, j = (long)(blockIdx.x % across) * 32;
    if (i >= rows) return; /* the whole warp */
    float v[32];
#pragma unroll
    for (int r = 0; r < 32; r++) v[r] = i + r < rows && j + lane < cols ? in[(i + r) * cols + j + lane] : 0.0f;
#pragma unroll
    for (int half = 16; half; half /= 2) {
        const bool high = lane & half;
#pragma unroll
        for (int r = 0; r < 32; r++) {
            if (r & half) continue;
            float give = high ? v[r] : v[r + half];
            float got = __shfl_xor_sync(0xffffffffu, give, half);
            if (high) v[r] = got;
            else v[r + half] = got;
        }
    }
#pragma unroll
    for (int c = 0; c < 32; c++)
        if (j + c < cols && i + lane < rows) out[(j + c) * rows + i + lane] = v[c];
}

void transpose(const float *in, float *out, long rows, long cols, cudaStream_t stream) {
    const long down = (rows + 32 * WARPS - 1) / (32 * WARPS), across = (cols + 31) / 32;
    transpose_in_registers<<<(unsigned)(down * across), 32 * WARPS, 0, stream>>>(in, out, rows, cols, (unsigned)across);
}
