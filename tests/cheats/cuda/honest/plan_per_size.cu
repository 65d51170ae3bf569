//: reduction_cuda
//: a plan for each length, made once behind a lock: blocks from the occupancy, unrolling from a table, scratch memory of its own
#include "kernel.h"

#include <algorithm>
#include <array>
#include <memory>
#include <mutex>
#include <unordered_map>

namespace {

constexpr int kThreads = 256;

__device__ float of_block(float mine) {
    __shared__ float warps[kThreads / 32];
    for (int d = 16; d; d /= 2) mine += __shfl_down_sync(~0u, mine, d);
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = mine;
    __syncthreads();
    mine = threadIdx.x < kThreads / 32 ? warps[threadIdx.x] : 0.0f;
    for (int d = kThreads / 64; d; d /= 2) mine += __shfl_down_sync(~0u, mine, d);
    return mine;
}

template <int UNROLL> __global__ void __launch_bounds__(kThreads) sum_some(const float *__restrict__ x, long n, float *to) {
    long step = (long)gridDim.x * kThreads, first = (long)blockIdx.x * kThreads + threadIdx.x;
    float sums[UNROLL] = {0.0f};
    const float4 *vectors = (const float4 *)x;
    for (long i = first; i < n / 4; i += UNROLL * step) {
#pragma unroll
        for (int u = 0; u < UNROLL; u++) {
            if (i + u * step >= n / 4) break;
            float4 v = vectors[i + u * step];
            sums[u] += (v.x + v.y) + (v.z + v.w);
        }
    }
    if (first < n % 4) sums[0] += x[n / 4 * 4 + first];
#pragma unroll
    for (int u = 1; u < UNROLL; u++) sums[0] += sums[u];
    float sum = of_block(sums[0]);
    if (threadIdx.x == 0) to[blockIdx.x] = sum;
}

typedef void (*kernel_t)(const float *, long, float *);

struct plan {
    kernel_t kernel = nullptr;
    unsigned blocks = 1;
    float *scratch = nullptr;

    explicit plan(long n) {
        struct choice {
            long least;
            kernel_t kernel;
            int unroll;
        };
        static const std::array<choice, 3> choices = {{{1L << 22, sum_some<8>, 8}, {1L << 18, sum_some<4>, 4}, {0, sum_some<1>, 1}}};
        const choice &one = *std::find_if(choices.begin(), choices.end(), [n](const choice &c) { return n >= c.least; });
        int device = 0, processors = 1, each = 1;
        cudaGetDevice(&device);
        cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
        cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, one.kernel, kThreads, 0);
        long wanted = (n / 4 + one.unroll * kThreads) / (one.unroll * kThreads);
        kernel = one.kernel;
        blocks = (unsigned)std::clamp<long>(wanted, 1, std::min(1024L, (long)processors * std::max(each, 1)));
        cudaMalloc((void **)&scratch, blocks * sizeof(float));
    }
    plan(const plan &) = delete;
    plan &operator=(const plan &) = delete;
};

const plan &plan_of(long n) {
    static std::mutex lock;
    static std::unordered_map<long, std::unique_ptr<plan>> plans;
    std::lock_guard<std::mutex> held(lock);
    std::unique_ptr<plan> &one = plans[n];
    if (!one) one = std::make_unique<plan>(n);
    return *one;
}

} // namespace

void reduction(const float *x, float *out, long n, cudaStream_t stream) {
    const plan &one = plan_of(n);
    one.kernel<<<one.blocks, kThreads, 0, stream>>>(x, n, one.scratch);
    sum_some<1><<<1, kThreads, 0, stream>>>(one.scratch, one.blocks, out);
}
