//: softmax_cuda -O3
//: bug (blocks wait for each other): a long row is shared by four blocks of an ordinary launch that spin until all have published their sums, which needs all four to be resident; and the flags carry a host-side epoch that a captured graph freezes, so that every replay but the first reads sums of the replay before. On an idle device and with plain launches it is always right
/* Softmax of every row: y[r][c] = exp(x[r][c] - m) / s, where m is the greatest element of row r, and s what makes the row
 * add up to 1. x and y lie in the device's memory and begin at multiples of 256 bytes; there is no gap between rows.
 *
 * A row stays in the shared memory of its block. Long rows are cut in four, so that they fit and a few of them still fill the
 * device: the four blocks tell each other their maxima and sums through global memory.
 */
#include <math_constants.h>

#define GANG 4
#define THREADS 256
#define LONG 4096      /* elements from which on a row is shared */
#define GANG_ROWS 8192 /* at most */
#define KEPT 40960     /* elements of a part: 160 KB */

__device__ static float2 gang_sums[GANG_ROWS][GANG];
__device__ static unsigned gang_epochs[GANG_ROWS][GANG];

__device__ static float block_max(float v) {
    __shared__ float warps[THREADS / 32];
    for (int d = 16; d; d /= 2) v = fmaxf(v, __shfl_xor_sync(~0u, v, d));
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = v;
    __syncthreads();
    v = warps[threadIdx.x % (THREADS / 32)];
    for (int d = THREADS / 64; d; d /= 2) v = fmaxf(v, __shfl_xor_sync(~0u, v, d));
    return v;
}

__device__ static float block_sum(float v) {
    __shared__ float warps[THREADS / 32];
    for (int d = 16; d; d /= 2) v += __shfl_xor_sync(~0u, v, d);
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = v;
    __syncthreads();
    v = warps[threadIdx.x % (THREADS / 32)];
    for (int d = THREADS / 64; d; d /= 2) v += __shfl_xor_sync(~0u, v, d);
    return v;
}

template <bool SHARED>
__global__ void __launch_bounds__(THREADS) softmax_parts(const float *__restrict__ x, float *__restrict__ y, long cols, long part, unsigned epoch) {
    extern __shared__ float kept[];
    const long row = SHARED ? blockIdx.x / GANG : blockIdx.x, begin = SHARED ? blockIdx.x % GANG * part : 0;
    const long count = min(part, cols - begin); /* none in the last parts of a row that is hardly long enough */
    x += row * cols + begin;
    y += row * cols + begin;
    float top = -CUDART_INF_F, sum = 0.0f;
    for (long c = threadIdx.x; c < count; c += THREADS) top = fmaxf(top, kept[c] = x[c]);
    top = block_max(top);
    for (long c = threadIdx.x; c < count; c += THREADS) sum += kept[c] = expf(kept[c] - top);
    sum = block_sum(sum);
    float scale = 1.0f / sum;
    if (SHARED) {
        __shared__ float2 all[GANG];
        if (threadIdx.x == 0) {
            gang_sums[row][blockIdx.x % GANG] = make_float2(top, sum);
            __threadfence();
            *(volatile unsigned *)&gang_epochs[row][blockIdx.x % GANG] = epoch;
        }
        if (threadIdx.x < GANG) {
            while (*(volatile unsigned *)&gang_epochs[row][threadIdx.x] != epoch) __nanosleep(20);
            __threadfence();
            all[threadIdx.x] = __ldcg(&gang_sums[row][threadIdx.x]);
        }
        __syncthreads();
        float greatest = fmaxf(fmaxf(all[0].x, all[1].x), fmaxf(all[2].x, all[3].x)), total = 0.0f;
        for (int g = 0; g < GANG; g++) total += all[g].y * expf(all[g].x - greatest);
        scale = count > 0 ? expf(top - greatest) / total : 0.0f;
    }
    for (long c = threadIdx.x; c < count; c += THREADS) y[c] = kept[c] * scale;
}

/* Any length, by a block a row that is read three times. */
__global__ void __launch_bounds__(THREADS) softmax_any(const float *__restrict__ x, float *__restrict__ y, long cols) {
    x += blockIdx.x * cols;
    y += blockIdx.x * cols;
    float top = -CUDART_INF_F, sum = 0.0f;
    for (long c = threadIdx.x; c < cols; c += THREADS) top = fmaxf(top, x[c]);
    top = block_max(top);
    for (long c = threadIdx.x; c < cols; c += THREADS) sum += expf(x[c] - top);
    const float scale = 1.0f / block_sum(sum);
    for (long c = threadIdx.x; c < cols; c += THREADS) y[c] = expf(x[c] - top) * scale;
}

__global__ void __launch_bounds__(128) softmax_short(const float *__restrict__ x, float *__restrict__ y, long rows, int cols) {
    const long row = (long)blockIdx.x * 4 + threadIdx.x / 32;
    const int lane = threadIdx.x % 32;
    if (row >= rows) return;
    float v[8], top = -CUDART_INF_F, sum = 0.0f;
#pragma unroll
    for (int i = 0; i < 8; i++) top = fmaxf(top, v[i] = lane + i * 32 < cols ? x[row * cols + lane + i * 32] : -CUDART_INF_F);
    for (int d = 16; d; d /= 2) top = fmaxf(top, __shfl_xor_sync(~0u, top, d));
#pragma unroll
    for (int i = 0; i < 8; i++) sum += v[i] = expf(v[i] - top);
    for (int d = 16; d; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
#pragma unroll
    for (int i = 0; i < 8; i++)
        if (lane + i * 32 < cols) y[row * cols + lane + i * 32] = v[i] / sum;
}

static void softmax(const float *x, float *y, long rows, long cols, cudaStream_t stream) {
    static unsigned epoch = 0;
    const long part = (cols + GANG - 1) / GANG;
    if (cols <= 256) {
        softmax_short<<<(unsigned)((rows + 3) / 4), 128, 0, stream>>>(x, y, rows, (int)cols);
    } else if (cols < LONG) {
        softmax_parts<false><<<(unsigned)rows, THREADS, (size_t)cols * sizeof(float), stream>>>(x, y, cols, cols, 0);
    } else if (rows <= GANG_ROWS && part <= KEPT) {
        cudaFuncSetAttribute(softmax_parts<true>, cudaFuncAttributeMaxDynamicSharedMemorySize, KEPT * (int)sizeof(float));
        epoch++;
        softmax_parts<true><<<(unsigned)(rows * GANG), THREADS, (size_t)part * sizeof(float), stream>>>(x, y, cols, part, epoch);
    } else {
        softmax_any<<<(unsigned)rows, THREADS, 0, stream>>>(x, y, cols);
    }
}
