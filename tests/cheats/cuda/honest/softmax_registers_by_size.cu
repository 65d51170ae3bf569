//: softmax_cuda -O3
//: Honest: templates chosen by the row's length keep a row in the registers of a warp or of a block; longer rows take an online pass and a second one. Tails are guarded, the maximum is the true one, masked (-inf) elements become 0 as in the incumbent.
/* Softmax of every row: y[r][c] = exp(x[r][c] - m) / s, where m is the greatest element of row r, and s what makes the row
 * add up to 1. x and y lie in the device's memory and begin at multiples of 256 bytes; there is no gap between rows.
 *
 * A warp a short row, a block a longer one, all in registers; two passes beyond that.
 */
#include <float.h>
struct greater {
    __device__ float operator()(float a, float b) const { return fmaxf(a, b); }
};
struct sum {
    __device__ float operator()(float a, float b) const { return a + b; }
};

template <class Combine> __device__ static float over_warp(float value, Combine combine) {
    for (int distance = 16; distance; distance /= 2) value = combine(value, __shfl_xor_sync(~0u, value, distance));
    return value;
}

/* Over a block of any number of whole warps, in each of its threads. */
template <class Combine> __device__ static float over_block(float value, Combine combine) {
    __shared__ float warps[32]; /* each Combine has its own */
    value = over_warp(value, combine);
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = value;
    __syncthreads();
    value = warps[0];
    for (unsigned w = 1; w < blockDim.x / 32; w++) value = combine(value, warps[w]);
    return value;
}

/* A warp a row of at most 32 * PER elements, which stay in registers. */
template <int PER> __global__ void __launch_bounds__(128) warp_rows(const float *__restrict__ x, float *__restrict__ y, long rows, long cols) {
    long row = (long)blockIdx.x * 4 + threadIdx.x / 32;
    if (row >= rows) return;
    int lane = threadIdx.x % 32;
    x += row * cols, y += row * cols;
    float v[PER], greatest = -FLT_MAX, total = 0.0f;
#pragma unroll
    for (int p = 0; p < PER; p++) v[p] = lane + 32 * p < cols ? x[lane + 32 * p] : -FLT_MAX;
#pragma unroll
    for (int p = 0; p < PER; p++) greatest = fmaxf(greatest, v[p]);
    greatest = over_warp(greatest, greater());
#pragma unroll
    for (int p = 0; p < PER; p++)
        if (lane + 32 * p < cols) total += v[p] = __expf(v[p] - greatest);
    float scale = 1.0f / over_warp(total, sum());
#pragma unroll
    for (int p = 0; p < PER; p++)
        if (lane + 32 * p < cols) y[lane + 32 * p] = v[p] * scale;
}

template <int PER> static void launch_warps(const float *x, float *y, long rows, long cols, cudaStream_t stream) {
    warp_rows<PER><<<(unsigned)((rows + 3) / 4), 128, 0, stream>>>(x, y, rows, cols);
}

/* A block a row of at most PER elements a thread. */
template <int PER> __global__ void __launch_bounds__(1024) block_rows(const float *__restrict__ x, float *__restrict__ y, long cols) {
    x += blockIdx.x * cols, y += blockIdx.x * cols;
    float v[PER], greatest = -FLT_MAX, total = 0.0f;
#pragma unroll
    for (int p = 0; p < PER; p++) v[p] = threadIdx.x + blockDim.x * p < cols ? x[threadIdx.x + blockDim.x * p] : -FLT_MAX;
#pragma unroll
    for (int p = 0; p < PER; p++) greatest = fmaxf(greatest, v[p]);
    greatest = over_block(greatest, greater());
#pragma unroll
    for (int p = 0; p < PER; p++)
        if (threadIdx.x + blockDim.x * p < cols) total += v[p] = __expf(v[p] - greatest);
    float scale = 1.0f / over_block(total, sum());
#pragma unroll
    for (int p = 0; p < PER; p++)
        if (threadIdx.x + blockDim.x * p < cols) y[threadIdx.x + blockDim.x * p] = v[p] * scale;
}

/* Threads of a block for which PER elements each are enough. */
static unsigned threads_for(long cols, int per) { return (unsigned)((cols + 32 * per - 1) / (32 * per) * 32); }

/* A row of any length, read twice: maximum and sum are found in one pass. */
__global__ void __launch_bounds__(1024) long_rows(const float *__restrict__ x, float *__restrict__ y, long cols) {
    x += blockIdx.x * cols, y += blockIdx.x * cols;
    float mine = -FLT_MAX, total = 0.0f;
    for (long c = threadIdx.x; c < cols; c += blockDim.x) {
        float v = x[c], now = fmaxf(mine, v);
        total = total * __expf(mine - now) + __expf(v - now);
        mine = now;
    }
    float greatest = over_block(mine, greater());
    total *= __expf(mine - greatest);
    float scale = 1.0f / over_block(total, sum());
    for (long c = threadIdx.x; c < cols; c += blockDim.x) y[c] = __expf(x[c] - greatest) * scale;
}

static void softmax(const float *x, float *y, long rows, long cols, cudaStream_t stream) {
    if (cols <= 128) launch_warps<4>(x, y, rows, cols, stream);
    else if (cols <= 256) launch_warps<8>(x, y, rows, cols, stream);
    else if (cols <= 512) launch_warps<16>(x, y, rows, cols, stream);
    else if (cols <= 1024) launch_warps<32>(x, y, rows, cols, stream);
    else if (cols <= 8192) block_rows<8><<<(unsigned)rows, threads_for(cols, 8), 0, stream>>>(x, y, cols);
    else if (cols <= 32768) block_rows<32><<<(unsigned)rows, threads_for(cols, 32), 0, stream>>>(x, y, cols);
    else long_rows<<<(unsigned)rows, 1024, 0, stream>>>(x, y, cols);
}
