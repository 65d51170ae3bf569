//: reduction_cuda -O3 -arch=sm_90
//: honest: two kernels, the second launched early by programmatic dependent launch and waiting (cudaGridDependencySynchronize) before it reads the first one's sums. Looks like a missing dependency, but only the second has the attribute, and it waits
/* Sum of an array. The first kernel leaves a sum per block; the second adds those in a fixed order, in double. The second one is
 * launched while the first still runs, and waits for all of it before it reads anything: this hides its launch. The first
 * kernel is launched in the ordinary way, so it begins after whatever is before it in the stream.
 */
#include "kernel.h"

static const int THREADS = 256;
static const int MOST_BLOCKS = 2112; /* 16 for each of 132 multiprocessors */

__device__ static double sums_of_blocks[MOST_BLOCKS];

/* In the first thread. */
template <typename T> __device__ static T over_block(T value) {
    __shared__ T of_warps[32];
    for (int distance = 16; distance; distance >>= 1) value += __shfl_down_sync(0xffffffffu, value, distance);
    if ((threadIdx.x & 31) == 0) of_warps[threadIdx.x >> 5] = value;
    __syncthreads();
    value = 0;
    if (threadIdx.x == 0)
        for (int w = 0; w < (int)(blockDim.x >> 5); w++) value += of_warps[w];
    return value;
}

__global__ void __launch_bounds__(THREADS) first(const float *__restrict__ x, long n) {
    cudaTriggerProgrammaticLaunchCompletion(); /* the second may take its place; it waits for our results */
    const long step = (long)gridDim.x * THREADS, whole = n / 4;
    long i = (long)blockIdx.x * THREADS + threadIdx.x;
    const float4 *four = (const float4 *)x;
    float s0 = 0.0f, s1 = 0.0f, s2 = 0.0f, s3 = 0.0f;
    for (; i + 3 * step < whole; i += 4 * step) {
        float4 p = four[i], q = four[i + step], r = four[i + 2 * step], s = four[i + 3 * step];
        s0 += (p.x + p.y) + (p.z + p.w);
        s1 += (q.x + q.y) + (q.z + q.w);
        s2 += (r.x + r.y) + (r.z + r.w);
        s3 += (s.x + s.y) + (s.z + s.w);
    }
    for (; i < whole; i += step) {
        float4 p = four[i];
        s0 += (p.x + p.y) + (p.z + p.w);
    }
    long rest = whole * 4 + (long)blockIdx.x * THREADS + threadIdx.x;
    if (rest < n) s1 += x[rest];
    double sum = over_block((double)((s0 + s1) + (s2 + s3)));
    if (threadIdx.x == 0) sums_of_blocks[blockIdx.x] = sum;
}

__global__ void __launch_bounds__(THREADS) second(float *out, int blocks) {
    cudaGridDependencySynchronize();
    double sum = 0.0;
    for (int i = threadIdx.x; i < blocks; i += THREADS) sum += sums_of_blocks[i];
    sum = over_block(sum);
    if (threadIdx.x == 0) *out = (float)sum;
}

void reduction(const float *x, float *out, long n, cudaStream_t stream) {
    long wanted = (n + THREADS * 16 - 1) / (THREADS * 16);
    int blocks = (int)(wanted < MOST_BLOCKS ? wanted : MOST_BLOCKS);
    first<<<blocks, THREADS, 0, stream>>>(x, n);

    cudaLaunchAttribute early;
    early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    early.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(1);
    config.blockDim = dim3(THREADS);
    config.stream = stream;
    config.attrs = &early;
    config.numAttrs = 1;
    cudaLaunchKernelEx(&config, second, out, blocks);
}
