//: reduction_cuda -O3 -arch=sm_90
//: bug (stream semantics): both kernels use programmatic dependent launch; the second waits and then triggers, but the first never waits for what is before it, so it can read x before a producer that triggers early has written it, and overwrite block sums that the call before still reads. In a harness whose copies and kernels never trigger it only shows as speed
/* Sum of an array by two kernels that overlap: programmatic dependent launch lets each begin while the one before it ends, so
 * that no launch latency is left between them, nor between one call and the next.
 */
#include "kernel.h"

#define THREADS 512
#define BLOCKS 528
#define FLIGHT 4

__device__ static float sums[BLOCKS];

__device__ static float in_block(float v) {
    __shared__ float warps[THREADS / 32];
    for (int d = 16; d; d /= 2) v += __shfl_xor_sync(~0u, v, d);
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = v;
    __syncthreads();
    v = warps[threadIdx.x % (THREADS / 32)];
    for (int d = THREADS / 64; d; d /= 2) v += __shfl_xor_sync(~0u, v, d);
    return v;
}

__global__ void __launch_bounds__(THREADS) sum_parts(const float *__restrict__ x, long n) {
    cudaTriggerProgrammaticLaunchCompletion(); /* let the other kernel come in; it waits for our sums */
    const float4 *four = (const float4 *)x;
    const long whole = n / 4, step = (long)gridDim.x * THREADS, me = (long)blockIdx.x * THREADS + threadIdx.x;
    float part[FLIGHT] = {};
    long i = me;
    for (; i + (FLIGHT - 1) * step < whole; i += FLIGHT * step) {
        float4 v[FLIGHT];
#pragma unroll
        for (int u = 0; u < FLIGHT; u++) v[u] = __ldcs(four + i + u * step);
#pragma unroll
        for (int u = 0; u < FLIGHT; u++) part[u] += (v[u].x + v[u].y) + (v[u].z + v[u].w);
    }
    for (; i < whole; i += step) {
        float4 v = __ldcs(four + i);
        part[0] += (v.x + v.y) + (v.z + v.w);
    }
    if (me < n % 4) part[1] += x[whole * 4 + me];
    float sum = in_block((part[0] + part[1]) + (part[2] + part[3]));
    if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

__global__ void __launch_bounds__(THREADS) sum_sums(float *out, int count) {
    cudaGridDependencySynchronize(); /* the sums are there */
    cudaTriggerProgrammaticLaunchCompletion();
    float mine = 0.0f;
    for (int i = threadIdx.x; i < count; i += THREADS) mine += sums[i];
    mine = in_block(mine);
    if (threadIdx.x == 0) *out = mine;
}

template <typename... Parameters, typename... Arguments>
static void launch(void (*kernel)(Parameters...), int blocks, cudaStream_t stream, Arguments... arguments) {
    cudaLaunchAttribute overlap;
    overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    overlap.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3((unsigned)blocks);
    config.blockDim = dim3(THREADS);
    config.stream = stream;
    config.attrs = &overlap;
    config.numAttrs = 1;
    cudaLaunchKernelEx(&config, kernel, arguments...);
}

void reduction(const float *x, float *out, long n, cudaStream_t stream) {
    long wanted = (n + THREADS * 4 * FLIGHT - 1) / (THREADS * 4 * FLIGHT);
    int blocks = (int)(wanted < BLOCKS ? wanted : BLOCKS);
    launch(sum_parts, blocks, stream, x, n);
    launch(sum_sums, 1, stream, out, blocks);
}
