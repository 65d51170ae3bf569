//: transpose_cuda -O3
//: Style: padded 64 x 64 tiles in shared memory, vectors of four on both sides where the sizes allow it, templates dispatched by the sizes.
#include "kernel.h"

constexpr int kSide = 64, kThreads = 256;

template <int READ, int WRITE>
__global__ void __launch_bounds__(kThreads) turn(const float *__restrict__ in, float *__restrict__ out, long rows, long cols, unsigned across) {
    __shared__ float tile[kSide][kSide + 1];
    long i = (long)(blockIdx.x / across) * kSide, j = (long)(blockIdx.x % across) * kSide;
    constexpr int reads = kSide * kSide / READ / kThreads, writes = kSide * kSide / WRITE / kThreads;
    float v[reads][READ];
#pragma unroll
    for (int s = 0; s < reads; s++) {
        int at = s * kThreads + threadIdx.x, y = at / (kSide / READ), x = at % (kSide / READ) * READ;
        bool within = i + y < rows && j + x < cols;
        if constexpr (READ == 4) {
            float4 f = within ? *(const float4 *)(in + (i + y) * cols + j + x) : make_float4(0, 0, 0, 0);
            v[s][0] = f.x, v[s][1] = f.y, v[s][2] = f.z, v[s][3] = f.w;
        } else v[s][0] = within ? in[(i + y) * cols + j + x] : 0.0f;
    }
#pragma unroll
    for (int s = 0; s < reads; s++) {
        int at = s * kThreads + threadIdx.x, y = at / (kSide / READ), x = at % (kSide / READ) * READ;
#pragma unroll
        for (int e = 0; e < READ; e++) tile[y][x + e] = v[s][e];
    }
    __syncthreads();
#pragma unroll
    for (int s = 0; s < writes; s++) {
        int at = s * kThreads + threadIdx.x, x = at / (kSide / WRITE), y = at % (kSide / WRITE) * WRITE;
        if (i + y >= rows || j + x >= cols) continue;
        float *to = out + (j + x) * rows + i + y;
        if constexpr (WRITE == 4) *(float4 *)to = make_float4(tile[y][x], tile[y + 1][x], tile[y + 2][x], tile[y + 3][x]);
        else *to = tile[y][x];
    }
}

void transpose(const float *in, float *out, long rows, long cols, cudaStream_t stream) {
    unsigned across = (unsigned)((cols + kSide - 1) / kSide), down = (unsigned)((rows + kSide - 1) / kSide), blocks = down * across;
    if (cols % 4 == 0 && rows % 4 == 0) turn<4, 4><<<blocks, kThreads, 0, stream>>>(in, out, rows, cols, across);
    else if (cols % 4 == 0) turn<4, 1><<<blocks, kThreads, 0, stream>>>(in, out, rows, cols, across);
    else if (rows % 4 == 0) turn<1, 4><<<blocks, kThreads, 0, stream>>>(in, out, rows, cols, across);
    else turn<1, 1><<<blocks, kThreads, 0, stream>>>(in, out, rows, cols, across);
}
