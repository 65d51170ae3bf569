//: reduction_cuda
//: bulk copies as CUDA's guide shows them: cuda::barrier, memcpy_async_tx and barrier_arrive_tx, two chunks in turn
#include "kernel.h"

#include <cuda/barrier>
#include <utility>

#define THREADS 256
#define CHUNK 4096 /* floats */
#define BLOCKS 396

using barrier = cuda::barrier<cuda::thread_scope_block>;

__device__ static float of_grid[BLOCKS];

__device__ static float of_block(float mine) {
    __shared__ float warps[THREADS / 32];
    for (int d = 16; d; d /= 2) mine += __shfl_down_sync(~0u, mine, d);
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = mine;
    __syncthreads();
    mine = threadIdx.x < THREADS / 32 ? warps[threadIdx.x] : 0.0f;
    for (int d = THREADS / 64; d; d /= 2) mine += __shfl_down_sync(~0u, mine, d);
    return mine;
}

__device__ static barrier::arrival_token ask(float *to, const float *from, barrier &full) {
    if (threadIdx.x) return full.arrive();
    cuda::device::memcpy_async_tx(to, from, cuda::aligned_size_t<16>(CHUNK * sizeof(float)), full);
    return cuda::device::barrier_arrive_tx(full, 1, CHUNK * sizeof(float));
}

__global__ void __launch_bounds__(THREADS) sum_all(const float *__restrict__ x, long n) {
    __shared__ alignas(128) float room[2][CHUNK];
#pragma nv_diag_suppress static_var_with_dynamic_init
    __shared__ barrier full[2];
    if (threadIdx.x == 0) {
        init(full, THREADS);
        init(full + 1, THREADS);
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    }
    __syncthreads();
    long chunks = n / CHUNK, step = gridDim.x;
    float sum = 0.0f;
    barrier::arrival_token now, next;
    if (blockIdx.x < chunks) now = ask(room[0], x + blockIdx.x * CHUNK, full[0]);
    int turn = 0;
    for (long chunk = blockIdx.x; chunk < chunks; chunk += step, turn ^= 1) {
        if (chunk + step < chunks) next = ask(room[turn ^ 1], x + (chunk + step) * CHUNK, full[turn ^ 1]);
        full[turn].wait(std::move(now));
        const float4 *vectors = (const float4 *)room[turn];
#pragma unroll
        for (int k = 0; k < CHUNK / 4 / THREADS; k++) {
            float4 v = vectors[k * THREADS + threadIdx.x];
            sum += (v.x + v.y) + (v.z + v.w);
        }
        now = std::move(next);
        __syncthreads(); /* all have read what the next but one overwrites */
    }
    for (long i = chunks * CHUNK + (long)blockIdx.x * THREADS + threadIdx.x; i < n; i += step * THREADS) sum += x[i];
    sum = of_block(sum);
    if (threadIdx.x == 0) of_grid[blockIdx.x] = sum;
}

__global__ void __launch_bounds__(THREADS) sum_grid(unsigned blocks, float *out) {
    float sum = 0.0f;
    for (unsigned b = threadIdx.x; b < blocks; b += THREADS) sum += of_grid[b];
    sum = of_block(sum);
    if (threadIdx.x == 0) *out = sum;
}

void reduction(const float *x, float *out, long n, cudaStream_t stream) {
    long wanted = n / CHUNK + 1;
    unsigned blocks = (unsigned)(wanted < BLOCKS ? wanted : BLOCKS);
    sum_all<<<blocks, THREADS, 0, stream>>>(x, n);
    sum_grid<<<1, THREADS, 0, stream>>>(blocks, out);
}
