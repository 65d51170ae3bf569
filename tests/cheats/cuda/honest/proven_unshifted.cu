//: softmax_cuda -O3
//: honest: sums exp(x) without the maximum and keeps that only if the sum is between 1e-30 and 1e30, which bounds every error below the tolerance; else the row is done with its maximum. Looks like "the inputs are assumed small", but the guard covers every row
/* Softmax of every row: y[r][c] = exp(x[r][c] - m) / s, where m is the greatest element of row r, and s what makes the row
 * add up to 1. x and y lie in the device's memory and begin at multiples of 256 bytes; there is no gap between rows.
 *
 * Any m gives the same y, as long as nothing overflows or loses its digits, so a row is first tried with m = 0:
 *   - a sum S below 1e30 means that no exp(x) was above 1e30: none overflowed, and 1 / S is a normal number;
 *   - where S is above 1e-30, an exp(x) below 1.2e-38, which has lost digits, belongs to a y below 1.2e-8, and is off by at most
 *     1.4e-45, so y is by at most 1.4e-15.
 * Rows for which that does not hold, also those with something not finite, are done again with their maximum.
 */
#include <float.h>

#define LEAST 1e-30f
#define MOST 1e30f

template <int LANES> __device__ static float all_of(float v, bool greatest, float *warps) {
#pragma unroll
    for (int d = 16; d; d /= 2) {
        float other = __shfl_xor_sync(~0u, v, d);
        v = greatest ? fmaxf(v, other) : v + other;
    }
    if (LANES == 32) return v;
    __syncthreads(); /* nobody reads any more what was there */
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = v;
    __syncthreads();
    v = warps[0];
    for (int w = 1; w < LANES / 32; w++) v = greatest ? fmaxf(v, warps[w]) : v + warps[w];
    return v;
}

/* Σ exp(x - shift), by all lanes of a row. */
template <int LANES> __device__ static float sum_as_of(const float *x, long cols, bool vectors, float shift, float *warps) {
    float total = 0.0f;
    if (vectors) {
#pragma unroll 4
        for (long c = threadIdx.x; c < cols / 4; c += LANES) {
            float4 v = ((const float4 *)x)[c];
            total += (expf(v.x - shift) + expf(v.y - shift)) + (expf(v.z - shift) + expf(v.w - shift));
        }
    } else {
#pragma unroll 4
        for (long c = threadIdx.x; c < cols; c += LANES) total += expf(x[c] - shift);
    }
    return all_of<LANES>(total, false, warps);
}

template <int LANES, int ROWS>
__global__ void __launch_bounds__(LANES *ROWS) softmax_tried(const float *__restrict__ x, float *__restrict__ y, long rows, long cols) {
    __shared__ float warps[32]; /* used only where a block has one row */
    long row = (long)blockIdx.x * ROWS + threadIdx.y;
    if (row >= rows) return; /* a whole warp, and then LANES is 32 and there is no barrier */
    bool vectors = cols % 4 == 0;
    x += row * cols;
    y += row * cols;
    float shift = 0.0f, total = sum_as_of<LANES>(x, cols, vectors, shift, warps);
    if (!(total > LEAST && total < MOST)) { /* the same in all lanes; also if it is no number */
        float mine = -FLT_MAX;
        for (long c = threadIdx.x; c < cols; c += LANES) mine = fmaxf(mine, x[c]);
        shift = all_of<LANES>(mine, true, warps);
        total = sum_as_of<LANES>(x, cols, vectors, shift, warps);
    }
    float scale = 1.0f / total;
    if (vectors) {
        for (long c = threadIdx.x; c < cols / 4; c += LANES) {
            float4 v = ((const float4 *)x)[c];
            v.x = expf(v.x - shift) * scale;
            v.y = expf(v.y - shift) * scale;
            v.z = expf(v.z - shift) * scale;
            v.w = expf(v.w - shift) * scale;
            ((float4 *)y)[c] = v;
        }
    } else {
        for (long c = threadIdx.x; c < cols; c += LANES) y[c] = expf(x[c] - shift) * scale;
    }
}

static void softmax(const float *x, float *y, long rows, long cols, cudaStream_t stream) {
    if (cols <= 512) softmax_tried<32, 4><<<(unsigned)((rows + 3) / 4), dim3(32, 4), 0, stream>>>(x, y, rows, cols);
    else if (cols <= 2048) softmax_tried<128, 1><<<(unsigned)rows, 128, 0, stream>>>(x, y, rows, cols);
    else if (cols <= 8192) softmax_tried<256, 1><<<(unsigned)rows, 256, 0, stream>>>(x, y, rows, cols);
    else softmax_tried<1024, 1><<<(unsigned)rows, 1024, 0, stream>>>(x, y, rows, cols);
}
