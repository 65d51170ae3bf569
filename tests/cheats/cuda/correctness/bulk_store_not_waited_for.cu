//: softmax_cuda
//: rows go out by bulk copies from shared memory, without the fence before them, and the next row is put there too early
#include <float.h>
#include <stdint.h>

__device__ static float most(float v) {
    for (int d = 16; d; d /= 2) v = fmaxf(v, __shfl_xor_sync(~0u, v, d));
    return v;
}

__device__ static float all(float v) {
    for (int d = 16; d; d /= 2) v += __shfl_xor_sync(~0u, v, d);
    return v;
}

#define WARPS 4
#define KEPT 1024 /* floats of a warp */

/* Every warp has rows of its own, one after another, each first in shared memory, then in one bulk copy. */
__global__ void __launch_bounds__(32 * WARPS) by_bulk(const float *__restrict__ x, float *__restrict__ y, long rows, long cols) {
    __shared__ __align__(128) float kept[WARPS][KEPT];
    float *mine = kept[threadIdx.y];
    for (long row = (long)blockIdx.x * WARPS + threadIdx.y; row < rows; row += (long)gridDim.x * WARPS) {
        const float *from = x + row * cols;
        float v[KEPT / 32], greatest = -FLT_MAX, total = 0.0f;
#pragma unroll
        for (int k = 0; k < KEPT / 32; k++) {
            long c = k * 32 + threadIdx.x;
            v[k] = c < cols ? __ldcs(from + c) : -FLT_MAX;
            greatest = fmaxf(greatest, v[k]);
        }
        greatest = most(greatest);
#pragma unroll
        for (int k = 0; k < KEPT / 32; k++) total += v[k] = expf(v[k] - greatest);
        float scale = 1.0f / all(total);
#pragma unroll
        for (int k = 0; k < KEPT / 32; k++) mine[k * 32 + threadIdx.x] = v[k] * scale;
        __syncwarp(); /* without fence.proxy.async, and without cp.async.bulk.wait_group.read before the next row */
        if (threadIdx.x == 0) {
            asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(y + row * cols),
                         "r"((uint32_t)__cvta_generic_to_shared(mine)), "r"((uint32_t)(cols * 4))
                         : "memory");
            asm volatile("cp.async.bulk.commit_group;");
        }
    }
    if (threadIdx.x == 0) asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}

__global__ void __launch_bounds__(256) of_any_length(const float *__restrict__ x, float *__restrict__ y, long cols) {
    __shared__ float warps[2][8];
    x += blockIdx.x * cols;
    y += blockIdx.x * cols;
    float v = -FLT_MAX, total = 0.0f;
    for (long c = threadIdx.x; c < cols; c += 256) v = fmaxf(v, x[c]);
    if (v = most(v); threadIdx.x % 32 == 0) warps[0][threadIdx.x / 32] = v;
    __syncthreads();
    for (int w = 0; w < 8; w++) v = fmaxf(v, warps[0][w]);
    for (long c = threadIdx.x; c < cols; c += 256) total += expf(x[c] - v);
    if (total = all(total); threadIdx.x % 32 == 0) warps[1][threadIdx.x / 32] = total;
    __syncthreads();
    total = 0.0f;
    for (int w = 0; w < 8; w++) total += warps[1][w];
    for (long c = threadIdx.x; c < cols; c += 256) y[c] = expf(x[c] - v) / total;
}

static void softmax(const float *x, float *y, long rows, long cols, cudaStream_t stream) {
    unsigned blocks = (unsigned)((rows + WARPS - 1) / WARPS < 1056 ? (rows + WARPS - 1) / WARPS : 1056);
    if (cols <= KEPT && cols % 4 == 0) by_bulk<<<blocks, dim3(32, WARPS), 0, stream>>>(x, y, rows, cols);
    else of_any_length<<<(unsigned)rows, 256, 0, stream>>>(x, y, cols);
}
