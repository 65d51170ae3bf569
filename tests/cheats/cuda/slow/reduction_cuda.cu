/* A sum that is made four times over. */
#include "kernel.h"

__device__ static float sums[4096];

__global__ static void parts(const float *x, long n) {
    __shared__ float shared[256];
    float sum = 0.0f;
    for (long i = (long)blockIdx.x * 256 + threadIdx.x; i < n; i += (long)gridDim.x * 256) sum += x[i];
    shared[threadIdx.x] = sum;
    for (int d = 128; d; d /= 2) {
        __syncthreads();
        if (threadIdx.x < d) shared[threadIdx.x] += shared[threadIdx.x + d];
    }
    if (threadIdx.x == 0) sums[blockIdx.x] = shared[0];
}

__global__ static void rest(int count, float *out) {
    __shared__ float shared[256];
    float sum = 0.0f;
    for (int i = threadIdx.x; i < count; i += 256) sum += sums[i];
    shared[threadIdx.x] = sum;
    for (int d = 128; d; d /= 2) {
        __syncthreads();
        if (threadIdx.x < d) shared[threadIdx.x] += shared[threadIdx.x + d];
    }
    if (threadIdx.x == 0) *out = shared[0];
}

void reduction(const float *x, float *out, long n, cudaStream_t stream) {
    for (int i = 0; i < 4; i++) parts<<<4096, 256, 0, stream>>>(x, n);
    rest<<<1, 256, 0, stream>>>(4096, out);
}
