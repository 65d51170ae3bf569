//: reduction_cuda
//: cub: a sum over the device with a kept scratch buffer, or sums over blocks
//: variant device DEVICE
//: variant block
#include "kernel.h"
#include <cub/cub.cuh>

#ifdef DEVICE
void reduction(const float *x, float *out, long n, cudaStream_t stream) {
    static void *scratch;
    static size_t room;
    size_t bytes = 0;
    cub::DeviceReduce::Sum(nullptr, bytes, x, out, (int)n, stream);
    if (bytes > room) {
        cudaFree(scratch);
        cudaMalloc(&scratch, room = bytes);
    }
    cub::DeviceReduce::Sum(scratch, bytes, x, out, (int)n, stream);
}
#else
__device__ static float parts[1024];

__global__ void blocks(const float *__restrict__ x, long n, float *to) {
    using Reduce = cub::BlockReduce<float, 256>;
    __shared__ typename Reduce::TempStorage storage;
    float sum = 0.0f;
    for (long i = (long)blockIdx.x * 256 + threadIdx.x; i < n; i += 256L * gridDim.x) sum += x[i];
    sum = Reduce(storage).Sum(sum);
    if (threadIdx.x == 0) to[blockIdx.x] = sum;
}

void reduction(const float *x, float *out, long n, cudaStream_t stream) {
    static float *kept;
    if (!kept) cudaGetSymbolAddress((void **)&kept, parts);
    blocks<<<1024, 256, 0, stream>>>(x, n, kept);
    blocks<<<1, 256, 0, stream>>>(kept, 1024, out);
}
#endif
