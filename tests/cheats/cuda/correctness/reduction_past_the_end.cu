//: reduction_cuda -O3
//: Loads whole chunks of 32 KB without asking whether they lie within the array, and throws away afterwards what does not, which spares the loop its bounds and faults where the array ends near the end of mapped memory.
/* Sum of an array: eight vectors of four under way in each thread, shuffles, atomics. */
#include "kernel.h"

#define CHUNK 8192

__device__ static float4 fetch(const float *from) {
    float4 v;
    asm volatile("ld.global.L1::no_allocate.v4.f32 {%0, %1, %2, %3}, [%4];" : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w) : "l"(from));
    return v;
}

__global__ void __launch_bounds__(256) add_up(const float *x, long n, float *out) {
    __shared__ float warps[8];
    float s = 0.0f;
    for (long at = (long)blockIdx.x * CHUNK; at < n; at += (long)gridDim.x * CHUNK) {
        float4 v[8];
#pragma unroll
        for (int k = 0; k < 8; k++) v[k] = fetch(x + at + k * 1024 + threadIdx.x * 4);
#pragma unroll
        for (int k = 0; k < 8; k++) {
            long i = at + k * 1024 + threadIdx.x * 4;
            s += ((i < n ? v[k].x : 0.0f) + (i + 1 < n ? v[k].y : 0.0f)) + ((i + 2 < n ? v[k].z : 0.0f) + (i + 3 < n ? v[k].w : 0.0f));
        }
    }
    for (int d = 16; d; d /= 2) s += __shfl_down_sync(~0u, s, d);
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = s;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int w = 1; w < 8; w++) s += warps[w];
        atomicAdd(out, s);
    }
}

void reduction(const float *x, float *out, long n, cudaStream_t stream) {
    long wanted = (n + CHUNK - 1) / CHUNK;
    cudaMemsetAsync(out, 0, sizeof *out, stream);
    add_up<<<(unsigned)(wanted < 1056 ? wanted : 1056), 256, 0, stream>>>(x, n, out);
}
