/* Sum of an array. As it stands: threads add up a few elements each, a block adds its threads' sums pair by pair in shared
 * memory, and a second kernel does the same with the blocks' sums.
 */
#include "kernel.h"

#define THREADS 256  /* of a block: 128, 256, 512, 1024 */
#define BLOCKS 65536 /* at most: 65536, 4096, 1024, 256 */
#define ITEMS 1      /* vectors that a thread has under way at once: 1, 2, 4, 8 */
#define VEC 1        /* floats of a vector: 1, 2, 4 */
#define SHUFFLE 0    /* 1 adds the threads' sums by shuffles within each warp */
#define ATOMIC 0     /* 1 adds the blocks' sums by atomics, without a second kernel */

struct alignas(4 * VEC) vec {
    float lanes[VEC];
};

__device__ static float added(vec v) {
    float sum = v.lanes[0];
    for (int k = 1; k < VEC; k++) sum += v.lanes[k];
    return sum;
}

/* What falls to this thread, of all threads of the grid. */
__device__ static float thread_sum(const float *__restrict__ x, long n) {
    const vec *vectors = (const vec *)x;
    long count = n / VEC, stride = (long)gridDim.x * THREADS, first = (long)blockIdx.x * THREADS + threadIdx.x, i = first;
    float sums[ITEMS] = {0.0f};
    for (; i + (ITEMS - 1) * stride < count; i += ITEMS * stride) {
        vec v[ITEMS];
#pragma unroll
        for (int u = 0; u < ITEMS; u++) v[u] = vectors[i + u * stride];
#pragma unroll
        for (int u = 0; u < ITEMS; u++) sums[u] += added(v[u]);
    }
    for (; i < count; i += stride) sums[0] += added(vectors[i]);
    for (i = count * VEC + first; i < n; i += stride) sums[0] += x[i];
#pragma unroll
    for (int u = 1; u < ITEMS; u++) sums[0] += sums[u];
    return sums[0];
}

/* The sum over the block, in its first thread. */
__device__ static float block_sum(float mine) {
#if SHUFFLE
    __shared__ float warps[THREADS / 32];
    for (int distance = 16; distance; distance /= 2) mine += __shfl_down_sync(~0u, mine, distance);
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = mine;
    __syncthreads();
    if (threadIdx.x >= 32) return 0.0f;
    mine = threadIdx.x < THREADS / 32 ? warps[threadIdx.x] : 0.0f;
    for (int distance = 16; distance; distance /= 2) mine += __shfl_down_sync(~0u, mine, distance);
    return mine;
#else
    __shared__ float sums[THREADS];
    sums[threadIdx.x] = mine;
    for (int distance = 1; distance < THREADS; distance *= 2) {
        __syncthreads();
        if (threadIdx.x % (2 * distance) == 0) sums[threadIdx.x] += sums[threadIdx.x + distance];
    }
    return sums[threadIdx.x];
#endif
}

#if ATOMIC

__global__ void __launch_bounds__(THREADS) sum_all(const float *x, long n, float *out) {
    float sum = block_sum(thread_sum(x, n));
    if (threadIdx.x == 0) atomicAdd(out, sum);
}

#else

__device__ __align__(16) static float block_sums[BLOCKS];

__global__ void __launch_bounds__(THREADS) sum_blocks(const float *x, long n) {
    float sum = block_sum(thread_sum(x, n));
    if (threadIdx.x == 0) block_sums[blockIdx.x] = sum;
}

__global__ void __launch_bounds__(THREADS) sum_sums(long n, float *out) {
    float sum = block_sum(thread_sum(block_sums, n));
    if (threadIdx.x == 0) *out = sum;
}

#endif

void reduction(const float *x, float *out, long n, cudaStream_t stream) {
    long wanted = (n + THREADS * ITEMS * VEC - 1) / (THREADS * ITEMS * VEC);
    unsigned blocks = (unsigned)(wanted < BLOCKS ? wanted : BLOCKS);
#if ATOMIC
    cudaMemsetAsync(out, 0, sizeof *out, stream);
    sum_all<<<blocks, THREADS, 0, stream>>>(x, n, out);
#else
    sum_blocks<<<blocks, THREADS, 0, stream>>>(x, n);
    sum_sums<<<1, THREADS, 0, stream>>>(blocks, out);
#endif
}
