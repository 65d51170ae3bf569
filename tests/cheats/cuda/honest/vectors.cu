//: transpose_cuda
//: loads float4 where rows allow it, and turns squares in registers
#include "kernel.h"

template <int WIDTH> __global__ void squares(const float *__restrict__ in, float *__restrict__ out, long rows, long cols) {
    long across = (cols + WIDTH - 1) / WIDTH, at = (long)blockIdx.x * blockDim.x + threadIdx.x;
    long i = at / across * WIDTH, j = at % across * WIDTH;
    if (i >= rows) return;
    if constexpr (WIDTH == 4) {
        float4 v[4];
#pragma unroll
        for (int k = 0; k < 4; k++) v[k] = *(const float4 *)(in + (i + k) * cols + j);
        *(float4 *)(out + j * rows + i) = make_float4(v[0].x, v[1].x, v[2].x, v[3].x);
        *(float4 *)(out + (j + 1) * rows + i) = make_float4(v[0].y, v[1].y, v[2].y, v[3].y);
        *(float4 *)(out + (j + 2) * rows + i) = make_float4(v[0].z, v[1].z, v[2].z, v[3].z);
        *(float4 *)(out + (j + 3) * rows + i) = make_float4(v[0].w, v[1].w, v[2].w, v[3].w);
    } else {
        out[j * rows + i] = in[i * cols + j];
    }
}

void transpose(const float *in, float *out, long rows, long cols, cudaStream_t stream) {
    long width = rows % 4 || cols % 4 ? 1 : 4, count = rows * cols / (width * width);
    if (width == 4) squares<4><<<(unsigned)((count + 127) / 128), 128, 0, stream>>>(in, out, rows, cols);
    else squares<1><<<(unsigned)((count + 127) / 128), 128, 0, stream>>>(in, out, rows, cols);
}
