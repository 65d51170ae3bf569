//: transpose_cuda -O3
//: Tiles of 64 by 64 with vectors of four on both sides where the sizes are multiples of four, turned by 4 by 4 in registers and put into shared memory in a swizzled order; other sizes take tiles of 32 by 33.
#include "kernel.h"

/* The tile is kept as the output has it: 64 rows of 16 vectors. */
__global__ void __launch_bounds__(256) turn_vectors(const float *__restrict__ in, float *__restrict__ out, long rows, long cols, unsigned across) {
    __shared__ float4 turned[64][16];
    const long i0 = (long)(blockIdx.x / across) * 64, j0 = (long)(blockIdx.x % across) * 64;
    const int vx = threadIdx.x % 16, vy = threadIdx.x / 16; /* vector vx of rows 4 vy to 4 vy + 3 */
    if (i0 + 4 * vy < rows && j0 + 4 * vx < cols) {
        float4 r[4];
#pragma unroll
        for (int k = 0; k < 4; k++) r[k] = __ldcs((const float4 *)(in + (i0 + 4 * vy + k) * cols + j0 + 4 * vx));
        const int at = vy ^ vx;
        turned[4 * vx + 0][at] = make_float4(r[0].x, r[1].x, r[2].x, r[3].x);
        turned[4 * vx + 1][at] = make_float4(r[0].y, r[1].y, r[2].y, r[3].y);
        turned[4 * vx + 2][at] = make_float4(r[0].z, r[1].z, r[2].z, r[3].z);
        turned[4 * vx + 3][at] = make_float4(r[0].w, r[1].w, r[2].w, r[3].w);
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < 4; k++) {
        const int row = 16 * k + vy;
        if (j0 + row < cols && i0 + 4 * vx < rows) __stcs((float4 *)(out + (j0 + row) * rows + i0 + 4 * vx), turned[row][vx ^ (row / 4)]);
    }
}

__global__ void __launch_bounds__(256) turn_scalars(const float *__restrict__ in, float *__restrict__ out, long rows, long cols, unsigned across) {
    __shared__ float tile[32][33];
    const long i0 = (long)(blockIdx.x / across) * 32, j0 = (long)(blockIdx.x % across) * 32;
    const int tx = threadIdx.x % 32, ty = threadIdx.x / 32;
    float v[4];
#pragma unroll
    for (int k = 0; k < 4; k++) v[k] = i0 + ty + 8 * k < rows && j0 + tx < cols ? in[(i0 + ty + 8 * k) * cols + j0 + tx] : 0.0f;
#pragma unroll
    for (int k = 0; k < 4; k++) tile[ty + 8 * k][tx] = v[k];
    __syncthreads();
#pragma unroll
    for (int k = 0; k < 4; k++)
        if (j0 + ty + 8 * k < cols && i0 + tx < rows) out[(j0 + ty + 8 * k) * rows + i0 + tx] = tile[tx][ty + 8 * k];
}

static unsigned pieces(long of, long size) { return (unsigned)((of + size - 1) / size); }

void transpose(const float *in, float *out, long rows, long cols, cudaStream_t stream) {
    if (rows % 4 == 0 && cols % 4 == 0)
        turn_vectors<<<pieces(rows, 64) * pieces(cols, 64), 256, 0, stream>>>(in, out, rows, cols, pieces(cols, 64));
    else turn_scalars<<<pieces(rows, 32) * pieces(cols, 32), 256, 0, stream>>>(in, out, rows, cols, pieces(cols, 32));
}
