//: reduction_cuda
//: cuda::memcpy_async and a pipeline of four stages for each thread, without barriers of the block in its loop
#include "kernel.h"

#include <cuda/pipeline>

#define THREADS 256
#define STAGES 4

__global__ void __launch_bounds__(THREADS) sum_all(const float *__restrict__ x, long n, float *out) {
    __shared__ float4 room[STAGES][THREADS];
    __shared__ float warps[THREADS / 32];
    cuda::pipeline<cuda::thread_scope_thread> pipe = cuda::make_pipeline();
    const float4 *vectors = (const float4 *)x;
    long count = n / 4, step = (long)gridDim.x * THREADS, first = (long)blockIdx.x * THREADS + threadIdx.x;
    long mine = first < count ? (count - first + step - 1) / step : 0;
    float sum = 0.0f;
    for (long asked = 0, used = 0; used < mine; used++) {
        for (; asked < mine && asked < used + STAGES; asked++) {
            pipe.producer_acquire();
            cuda::memcpy_async(&room[asked % STAGES][threadIdx.x], vectors + first + asked * step, cuda::aligned_size_t<16>(16), pipe);
            pipe.producer_commit();
        }
        if (asked == used + STAGES) cuda::pipeline_consumer_wait_prior<STAGES - 1>(pipe);
        else cuda::pipeline_consumer_wait_prior<0>(pipe);
        float4 v = room[used % STAGES][threadIdx.x];
        sum += (v.x + v.y) + (v.z + v.w);
        pipe.consumer_release();
    }
    if (blockIdx.x == 0 && threadIdx.x < n % 4) sum += x[count * 4 + threadIdx.x];
    for (int d = 16; d; d /= 2) sum += __shfl_down_sync(~0u, sum, d);
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x) return;
    for (int w = 1; w < THREADS / 32; w++) sum += warps[w];
    atomicAdd(out, sum);
}

void reduction(const float *x, float *out, long n, cudaStream_t stream) {
    long wanted = (n / 4 + THREADS * 8 - 1) / (THREADS * 8);
    unsigned blocks = (unsigned)(wanted < 1 ? 1 : wanted < 1056 ? wanted : 1056);
    cudaMemsetAsync(out, 0, sizeof *out, stream);
    sum_all<<<blocks, THREADS, 0, stream>>>(x, n, out);
}
