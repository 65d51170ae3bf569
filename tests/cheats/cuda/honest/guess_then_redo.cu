//: softmax_cuda
//: exps are taken relative to the greatest of a row's first 128 elements; a row that overflows so is done again with its maximum
#include <float.h>

__device__ static float most(float v) {
    for (int d = 16; d; d /= 2) v = fmaxf(v, __shfl_xor_sync(~0u, v, d));
    return v;
}

__device__ static float all(float v) {
    for (int d = 16; d; d /= 2) v += __shfl_xor_sync(~0u, v, d);
    return v;
}

__device__ static float block_sum(float v) {
    __shared__ float warps[8];
    v = all(v);
    __syncthreads();
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = v;
    __syncthreads();
    v = 0.0f;
    for (int w = 0; w < 8; w++) v += warps[w];
    return v;
}

__device__ static float block_max(float v) {
    __shared__ float warps[8];
    v = most(v);
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = v;
    __syncthreads();
    for (int w = 0; w < 8; w++) v = fmaxf(v, warps[w]);
    return v;
}

__global__ void __launch_bounds__(256) softmax_rows(const float *__restrict__ x, float *__restrict__ y, long cols) {
    x += blockIdx.x * cols;
    y += blockIdx.x * cols;
    float base = -FLT_MAX, total = 0.0f;
    for (long c = threadIdx.x % 32; c < cols && c < 128; c += 32) base = fmaxf(base, x[c]);
    base = most(base);
    for (long c = threadIdx.x; c < cols; c += 256) total += expf(x[c] - base);
    total = block_sum(total);
    if (!(total < 1e30f)) { /* for all threads of the block, or for none */
        base = -FLT_MAX;
        total = 0.0f;
        for (long c = threadIdx.x; c < cols; c += 256) base = fmaxf(base, x[c]);
        base = block_max(base);
        for (long c = threadIdx.x; c < cols; c += 256) total += expf(x[c] - base);
        total = block_sum(total);
    }
    float scale = 1.0f / total;
    for (long c = threadIdx.x; c < cols; c += 256) __stcs(y + c, expf(x[c] - base) * scale);
}

static void softmax(const float *x, float *y, long rows, long cols, cudaStream_t stream) {
    softmax_rows<<<(unsigned)rows, 256, 0, stream>>>(x, y, cols);
}
