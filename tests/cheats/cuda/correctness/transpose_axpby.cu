//: transpose_cuda -O3 -arch=sm_90
//: Moves the elements through arithmetic (alpha * x + 0, from an omatcopy): -0.0 becomes +0.0 and the payloads of NaNs are lost, so that integers or tagged values kept in float matrices are destroyed.
/* out = alpha * transpose(in) + beta, a tile of 64 x 64 a block; a thread reads and writes vectors where the sizes allow it. */
#include "kernel.h"

#define SIDE 64
#define THREADS 256

template <bool BY4> __global__ void __launch_bounds__(THREADS) turn(const float *__restrict__ in, float *__restrict__ out, long rows,
                                                                    long cols, unsigned across, float alpha, float beta) {
    __shared__ float tile[SIDE][SIDE + 1];
    long i = (long)(blockIdx.x / across) * SIDE, j = (long)(blockIdx.x % across) * SIDE;
    if (BY4) {
        int x = threadIdx.x % 16 * 4, y = threadIdx.x / 16;
        float4 v[4];
#pragma unroll
        for (int s = 0; s < 4; s++)
            if (i + y + s * 16 < rows && j + x < cols) v[s] = __ldcs((const float4 *)(in + (i + y + s * 16) * cols + j + x));
#pragma unroll
        for (int s = 0; s < 4; s++) {
            float *to = &tile[y + s * 16][x];
            to[0] = v[s].x, to[1] = v[s].y, to[2] = v[s].z, to[3] = v[s].w;
        }
        __syncthreads();
#pragma unroll
        for (int s = 0; s < 4; s++) {
            float4 w;
            int col = threadIdx.x / 16 + s * 16, row = threadIdx.x % 16 * 4;
            w.x = fmaf(alpha, tile[row][col], beta);
            w.y = fmaf(alpha, tile[row + 1][col], beta);
            w.z = fmaf(alpha, tile[row + 2][col], beta);
            w.w = fmaf(alpha, tile[row + 3][col], beta);
            if (i + row < rows && j + col < cols) *(float4 *)(out + (j + col) * rows + i + row) = w;
        }
    } else {
        int x = threadIdx.x % SIDE, y = threadIdx.x / SIDE;
        float v[16];
#pragma unroll
        for (int s = 0; s < 16; s++)
            if (i + y + s * 4 < rows && j + x < cols) v[s] = in[(i + y + s * 4) * cols + j + x];
#pragma unroll
        for (int s = 0; s < 16; s++) tile[y + s * 4][x] = v[s];
        __syncthreads();
#pragma unroll
        for (int s = 0; s < 16; s++)
            if (i + x < rows && j + y + s * 4 < cols) out[(j + y + s * 4) * rows + i + x] = fmaf(alpha, tile[x][y + s * 4], beta);
    }
}

void transpose(const float *in, float *out, long rows, long cols, cudaStream_t stream) {
    unsigned across = (unsigned)((cols + SIDE - 1) / SIDE), down = (unsigned)((rows + SIDE - 1) / SIDE);
    if (rows % 4 == 0 && cols % 4 == 0) turn<true><<<across * down, THREADS, 0, stream>>>(in, out, rows, cols, across, 1.0f, 0.0f);
    else turn<false><<<across * down, THREADS, 0, stream>>>(in, out, rows, cols, across, 1.0f, 0.0f);
}
