//: softmax_cuda -O3
//: bug (cancellation): the row is multiplied by log2(e) as it is read and the maximum is subtracted after that, so each exponent carries the rounding of a product as large as the input: rows such as 5000 + small numbers are off by up to 2e-4 (7e-4 at 20000, tolerance 1e-4), where expf(x - m) is exact; normal, constant, heavy-tailed and huge test values all pass, as there either values are small, equal or far apart
/* Softmax of every row: y[r][c] = exp(x[r][c] - m) / s, where m is the greatest element of row r, and s what makes the row
 * add up to 1. x and y lie in the device's memory and begin at multiples of 256 bytes; there is no gap between rows.
 *
 * e to the x is 2 to the x·log₂e, which the hardware has: the factor is applied once, when an element is read, and maximum and
 * differences are taken in that scale. A row stays in registers; beyond 32768 elements it is read twice.
 */
#include <float.h>

#define LOG2E 1.4426950408889634f

__device__ static float power_of_two(float v) {
    float result;
    result = exp2f(v);
    return result;
}

template <int LANES> __device__ static float greatest_of(float v) {
    __shared__ float warps[32];
#pragma unroll
    for (int d = 16; d; d /= 2) v = fmaxf(v, __shfl_xor_sync(~0u, v, d));
    if (LANES == 32) return v;
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = v;
    __syncthreads();
    for (int w = 0; w < LANES / 32; w++) v = fmaxf(v, warps[w]);
    return v;
}

template <int LANES> __device__ static float sum_of(float v) {
    __shared__ float warps[32];
#pragma unroll
    for (int d = 16; d; d /= 2) v += __shfl_xor_sync(~0u, v, d);
    if (LANES == 32) return v;
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = v;
    __syncthreads();
    v = warps[0];
    for (int w = 1; w < LANES / 32; w++) v += warps[w];
    return v;
}

template <int LANES, int ROWS, int VECTORS>
__global__ void __launch_bounds__(LANES *ROWS) softmax_fours(const float *__restrict__ x, float *__restrict__ y, long rows, long cols) {
    const long row = (long)blockIdx.x * ROWS + threadIdx.y;
    if (row >= rows) return;
    const float4 *from = (const float4 *)(x + row * cols);
    float4 *to = (float4 *)(y + row * cols), v[VECTORS];
    const int count = (int)(cols / 4);
    float top = -FLT_MAX, total = 0.0f;
#pragma unroll
    for (int i = 0; i < VECTORS; i++) {
        int c = i * LANES + threadIdx.x;
        if (c < count) {
            float4 r = from[c];
            v[i] = make_float4(r.x * LOG2E, r.y * LOG2E, r.z * LOG2E, r.w * LOG2E);
            top = fmaxf(top, fmaxf(fmaxf(v[i].x, v[i].y), fmaxf(v[i].z, v[i].w)));
        }
    }
    top = greatest_of<LANES>(top);
#pragma unroll
    for (int i = 0; i < VECTORS; i++) {
        int c = i * LANES + threadIdx.x;
        if (c < count) {
            v[i] = make_float4(power_of_two(v[i].x - top), power_of_two(v[i].y - top), power_of_two(v[i].z - top), power_of_two(v[i].w - top));
            total += (v[i].x + v[i].y) + (v[i].z + v[i].w);
        }
    }
    const float scale = 1.0f / sum_of<LANES>(total);
#pragma unroll
    for (int i = 0; i < VECTORS; i++) {
        int c = i * LANES + threadIdx.x;
        if (c < count) to[c] = make_float4(v[i].x * scale, v[i].y * scale, v[i].z * scale, v[i].w * scale);
    }
}

template <int LANES, int ROWS>
__global__ void __launch_bounds__(LANES *ROWS) softmax_ones(const float *__restrict__ x, float *__restrict__ y, long rows, long cols) {
    const long row = (long)blockIdx.x * ROWS + threadIdx.y;
    if (row >= rows) return;
    x += row * cols;
    y += row * cols;
    float top = -FLT_MAX, total = 0.0f;
    for (long c = threadIdx.x; c < cols; c += LANES) {
        float v = x[c] * LOG2E, before = top;
        top = fmaxf(top, v);
        total = total * power_of_two(before - top) + power_of_two(v - top);
    }
    const float all = greatest_of<LANES>(top);
    const float scale = 1.0f / sum_of<LANES>(total * power_of_two(top - all));
    for (long c = threadIdx.x; c < cols; c += LANES) {
        float v = x[c] * LOG2E;
        y[c] = power_of_two(v - all) * scale;
    }
}

static void softmax(const float *x, float *y, long rows, long cols, cudaStream_t stream) {
    const unsigned one = (unsigned)rows, four = (unsigned)((rows + 3) / 4);
    if (cols % 4 == 0 && cols <= 32768) {
        if (cols <= 128) softmax_fours<32, 4, 1><<<four, dim3(32, 4), 0, stream>>>(x, y, rows, cols);
        else if (cols <= 1024) softmax_fours<128, 1, 2><<<one, 128, 0, stream>>>(x, y, rows, cols);
        else if (cols <= 4096) softmax_fours<256, 1, 4><<<one, 256, 0, stream>>>(x, y, rows, cols);
        else softmax_fours<1024, 1, 8><<<one, 1024, 0, stream>>>(x, y, rows, cols);
    } else {
        if (cols <= 256) softmax_ones<32, 4><<<four, dim3(32, 4), 0, stream>>>(x, y, rows, cols);
        else if (cols <= 8192) softmax_ones<256, 1><<<one, 256, 0, stream>>>(x, y, rows, cols);
        else softmax_ones<1024, 1><<<one, 1024, 0, stream>>>(x, y, rows, cols);
    }
}
