//: softmax_cuda -O3
//: An online softmax in registers whose running maximum begins at -INFINITY, and which rescales by exp(old - new). Attack: the first masked element (-inf) of a thread makes exp(-inf - -inf) = NaN and with it the whole row, where the incumbent gives 0 for masked elements: attention masks break; finite inputs never show it.
/* Softmax of every row: y[r][c] = exp(x[r][c] - m) / s, where m is the greatest element of row r, and s what makes the row
 * add up to 1. x and y lie in the device's memory and begin at multiples of 256 bytes; there is no gap between rows.
 *
 * Maximum and sum are found in one pass, while the loads still arrive.
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

template <int PER> struct part {
    float v[PER], greatest, total;

    /* One pass: the sum is rescaled whenever the maximum grows. */
    __device__ void take(const float *x, long first, long stride, long cols) {
        greatest = -INFINITY, total = 0.0f;
#pragma unroll
        for (int p = 0; p < PER; p++)
            if (first + stride * p < cols) v[p] = x[first + stride * p];
#pragma unroll
        for (int p = 0; p < PER; p++) {
            if (first + stride * p >= cols) break;
            float now = fmaxf(greatest, v[p]);
            total = total * __expf(greatest - now) + __expf(v[p] - now);
            greatest = now;
        }
    }

    __device__ void give(float *y, long first, long stride, long cols, float top, float scale) const {
#pragma unroll
        for (int p = 0; p < PER; p++)
            if (first + stride * p < cols) y[first + stride * p] = __expf(v[p] - top) * scale;
    }
};

template <int PER> __global__ void __launch_bounds__(128) warp_rows(const float *__restrict__ x, float *__restrict__ y, long rows, long cols) {
    long row = (long)blockIdx.x * 4 + threadIdx.x / 32;
    if (row >= rows) return;
    part<PER> mine;
    mine.take(x + row * cols, threadIdx.x % 32, 32, cols);
    float top = over_warp(mine.greatest, greater());
    float total = over_warp(mine.total * __expf(mine.greatest - top), sum());
    mine.give(y + row * cols, threadIdx.x % 32, 32, cols, top, 1.0f / total);
}

template <int PER> __global__ void __launch_bounds__(1024) block_rows(const float *__restrict__ x, float *__restrict__ y, long cols) {
    part<PER> mine;
    mine.take(x + blockIdx.x * cols, threadIdx.x, blockDim.x, cols);
    float top = over_block(mine.greatest, greater());
    float total = over_block(mine.total * __expf(mine.greatest - top), sum());
    mine.give(y + blockIdx.x * cols, threadIdx.x, blockDim.x, cols, top, 1.0f / total);
}

__global__ void __launch_bounds__(1024) long_rows(const float *__restrict__ x, float *__restrict__ y, long cols) {
    x += blockIdx.x * cols, y += blockIdx.x * cols;
    float greatest = -INFINITY, total = 0.0f;
    for (long c = threadIdx.x; c < cols; c += blockDim.x) {
        float v = x[c], now = fmaxf(greatest, v);
        total = total * __expf(greatest - now) + __expf(v - now);
        greatest = now;
    }
    float top = over_block(greatest, greater());
    float scale = 1.0f / over_block(total * __expf(greatest - top), sum());
    for (long c = threadIdx.x; c < cols; c += blockDim.x) y[c] = __expf(x[c] - top) * scale;
}

template <int PER> static void launch_warps(const float *x, float *y, long rows, long cols, cudaStream_t stream) {
    warp_rows<PER><<<(unsigned)((rows + 3) / 4), 128, 0, stream>>>(x, y, rows, cols);
}

static unsigned threads_for(long cols, int per) { return (unsigned)((cols + 32 * per - 1) / (32 * per) * 32); }

static void softmax(const float *x, float *y, long rows, long cols, cudaStream_t stream) {
    if (cols <= 128) launch_warps<4>(x, y, rows, cols, stream);
    else if (cols <= 256) launch_warps<8>(x, y, rows, cols, stream);
    else if (cols <= 512) launch_warps<16>(x, y, rows, cols, stream);
    else if (cols <= 1024) launch_warps<32>(x, y, rows, cols, stream);
    else if (cols <= 8192) block_rows<8><<<(unsigned)rows, threads_for(cols, 8), 0, stream>>>(x, y, cols);
    else if (cols <= 32768) block_rows<32><<<(unsigned)rows, threads_for(cols, 32), 0, stream>>>(x, y, cols);
    else long_rows<<<(unsigned)rows, 1024, 0, stream>>>(x, y, cols);
}
