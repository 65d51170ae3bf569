//: reduction_cuda
//: CUB's loads and sums of blocks in two kernels of its own, with an iterator that leaves the caches alone
#include "kernel.h"

#include <cub/cub.cuh>

#define THREADS 256
#define EACH 16
#define BLOCKS 1056

__device__ static float of_grid[BLOCKS];

__global__ void __launch_bounds__(THREADS) of_blocks(const float *x, long n) {
    typedef cub::BlockLoad<float, THREADS, EACH, cub::BLOCK_LOAD_STRIPED> load;
    typedef cub::BlockReduce<float, THREADS, cub::BLOCK_REDUCE_WARP_REDUCTIONS> reduce;
    __shared__ union {
        typename load::TempStorage loads;
        typename reduce::TempStorage sums;
    } room;
    cub::CacheModifiedInputIterator<cub::LOAD_CS, float> from(x);
    float sum = 0.0f;
    const long tile = THREADS * EACH;
    for (long at = blockIdx.x * tile; at < n; at += gridDim.x * tile) {
        float v[EACH];
        if (n - at >= tile) load(room.loads).Load(from + at, v);
        else load(room.loads).Load(from + at, v, (int)(n - at), 0.0f);
        float some = 0.0f;
#pragma unroll
        for (int k = 0; k < EACH; k++) some += v[k];
        sum += some;
    }
    __syncthreads();
    sum = reduce(room.sums).Sum(sum);
    if (threadIdx.x == 0) of_grid[blockIdx.x] = sum;
}

__global__ void __launch_bounds__(THREADS) of_parts(float *out, unsigned blocks) {
    typedef cub::BlockReduce<float, THREADS> reduce;
    __shared__ typename reduce::TempStorage room;
    float sum = 0.0f;
    for (unsigned b = threadIdx.x; b < blocks; b += THREADS) sum += of_grid[b];
    sum = reduce(room).Sum(sum);
    if (threadIdx.x == 0) *out = sum;
}

void reduction(const float *x, float *out, long n, cudaStream_t stream) {
    long tiles = (n + THREADS * EACH - 1) / (THREADS * EACH);
    unsigned blocks = (unsigned)(tiles < BLOCKS ? tiles : BLOCKS);
    of_blocks<<<blocks, THREADS, 0, stream>>>(x, n);
    of_parts<<<1, THREADS, 0, stream>>>(out, blocks);
}
