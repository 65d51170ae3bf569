//: reduction_cuda
//: vectors of four, UNROLL of them under way at once
//: variant two UNROLL=2
//: variant eight UNROLL=8
#include "kernel.h"

__device__ static float parts[2048]; // one for each block, 2 * 1024 of them

template <int N> __device__ __forceinline__ float sum_of(const float4 (&v)[N]) {
    float sum = 0.0f;
#pragma unroll
    for (int u = 0; u < N; u++) sum += (v[u].x + v[u].y) + (v[u].z + v[u].w);
    return sum;
}

__global__ void __launch_bounds__(512) first(const float *__restrict__ x, long n, float *to) {
    __shared__ float warps[16];
    const float4 *fours = reinterpret_cast<const float4 *>(x);
    long count = n / 4, stride = (long)gridDim.x * 512, i = (long)blockIdx.x * 512 + threadIdx.x, first_one = i;
    float sum = 0.0f;
    for (; i + (UNROLL - 1) * stride < count; i += UNROLL * stride) {
        float4 v[UNROLL];
#pragma unroll
        for (int u = 0; u < UNROLL; u++) v[u] = fours[i + u * stride];
        sum += sum_of(v);
    }
    for (; i < count; i += stride) sum += (fours[i].x + fours[i].y) + (fours[i].z + fours[i].w);
    for (i = count * 4 + first_one; i < n; i += stride) sum += x[i];
    for (int d = 16; d; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x >= 32) return;
    sum = threadIdx.x < 16 ? warps[threadIdx.x] : 0.0f;
    for (int d = 16; d; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
    if (threadIdx.x == 0) to[blockIdx.x] = sum;
}

void reduction(const float *x, float *out, long n, cudaStream_t stream) {
    static float *kept; /* the address of parts, which does not change */
    if (!kept) cudaGetSymbolAddress((void **)&kept, parts);
    first<<<1024, 512, 0, stream>>>(x, n, kept);
    first<<<1, 512, 0, stream>>>(kept, 1024, out);
}
