//: reduction_cuda
//: adds up in bfloat16 pairs; wins nothing on this task and much on others
//: use reduction_fast
#include <cuda_bf16.h>

__global__ static void rough_parts(const float *x, long n) {
    __nv_bfloat16 sum = 0.0f;
    float total = 0.0f;
    int k = 0;
    for (long i = (long)blockIdx.x * 256 + threadIdx.x; i < n; i += 256L * gridDim.x) {
        sum += (__nv_bfloat16)x[i];
        if (++k % 8 == 0) total += (float)sum, sum = 0.0f;
    }
    total = block_total(total + (float)sum);
    if (threadIdx.x == 0) partial_sums[blockIdx.x] = total;
}

void reduction(const float *x, float *out, long n, cudaStream_t stream) {
    rough_parts<<<MOST_BLOCKS, 256, 0, stream>>>(x, n);
    sum_rest<<<1, 256, 0, stream>>>(MOST_BLOCKS, out);
    (void)fast;
}
