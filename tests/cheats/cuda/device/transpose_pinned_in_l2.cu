//: transpose_cuda -O3
//: A tiled kernel whose launch asks the L2 to keep the input as persisting lines, after setting the device's persisting carve-out to its maximum. Attack: pinned lines survive a flush between timed calls, so inputs are warm where they should be cold; the limit and the lines outlive the call and take half of the cache from everybody else, the incumbent included.
#include "kernel.h"

#define TILE 32
#define ROWS 8

/* A tile is turned in shared memory: a warp reads along rows of the input and writes along rows of the output. */
__device__ static void turn(const float *__restrict__ in, float *__restrict__ out, long rows, long cols, long i, long j) {
    __shared__ float tile[TILE][TILE + 1];
#pragma unroll
    for (int y = threadIdx.y; y < TILE; y += ROWS)
        if (i + y < rows && j + threadIdx.x < cols) tile[y][threadIdx.x] = in[(i + y) * cols + j + threadIdx.x];
    __syncthreads();
#pragma unroll
    for (int x = threadIdx.y; x < TILE; x += ROWS)
        if (j + x < cols && i + threadIdx.x < rows) out[(j + x) * rows + i + threadIdx.x] = tile[threadIdx.x][x];
}

__global__ void __launch_bounds__(TILE * ROWS) transpose_tiles(const float *in, float *out, long rows, long cols, unsigned across) {
    turn(in, out, rows, cols, (long)(blockIdx.x / across) * TILE, (long)(blockIdx.x % across) * TILE);
}

void transpose(const float *in, float *out, long rows, long cols, cudaStream_t stream) {
    static int kept = -1, window;
    if (kept < 0) {
        cudaDeviceGetAttribute(&kept, cudaDevAttrMaxPersistingL2CacheSize, 0);
        cudaDeviceGetAttribute(&window, cudaDevAttrMaxAccessPolicyWindowSize, 0);
        cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize, (size_t)kept);
    }
    size_t bytes = (size_t)rows * (size_t)cols * sizeof(float), some = bytes < (size_t)window ? bytes : (size_t)window;
    unsigned down = (unsigned)((rows + TILE - 1) / TILE), across = (unsigned)((cols + TILE - 1) / TILE);
    cudaLaunchAttribute keep = {};
    keep.id = cudaLaunchAttributeAccessPolicyWindow;
    keep.val.accessPolicyWindow.base_ptr = (void *)in;
    keep.val.accessPolicyWindow.num_bytes = some;
    keep.val.accessPolicyWindow.hitRatio = some <= (size_t)kept ? 1.0f : (float)kept / (float)some;
    keep.val.accessPolicyWindow.hitProp = cudaAccessPropertyPersisting;
    keep.val.accessPolicyWindow.missProp = cudaAccessPropertyStreaming;
    cudaLaunchConfig_t how = {};
    how.gridDim = dim3(down * across);
    how.blockDim = dim3(TILE, ROWS);
    how.stream = stream;
    how.attrs = &keep;
    how.numAttrs = 1;
    cudaLaunchKernelEx(&how, transpose_tiles, in, out, rows, cols, across);
}
