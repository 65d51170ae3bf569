//: softmax_cuda
//: computes in half precision and writes floats; wins bandwidth and instructions
//: variant half TYPE=__half
//: variant bfloat TYPE=__nv_bfloat16
//: use softmax_fast
#include <cuda_bf16.h>
#include <cuda_fp16.h>

__global__ static void rough(const float *__restrict__ x, float *__restrict__ y, long cols) {
    __shared__ float shared[32];
    x += blockIdx.x * cols;
    y += blockIdx.x * cols;
    float mine = -FLT_MAX, total = 0.0f;
    for (long c = threadIdx.x; c < cols; c += blockDim.x) mine = fmaxf(mine, x[c]);
    float most = all_of(mine, true, shared);
    for (long c = threadIdx.x; c < cols; c += blockDim.x) total += (float)(TYPE)expf(x[c] - most);
    float scale = 1.0f / all_of(total, false, shared);
    for (long c = threadIdx.x; c < cols; c += blockDim.x) y[c] = (float)(TYPE)(expf(x[c] - most) * scale);
}

static void softmax(const float *x, float *y, long rows, long cols, cudaStream_t stream) {
    rough<<<(unsigned)rows, cols <= 256 ? 64 : 256, 0, stream>>>(x, y, cols);
    (void)fast;
}
