//: softmax_cuda -O3
//: A row stays in registers between one read and one write, with a warp or a block a row as its length asks for, chosen among templates; rows that are too long are read again by an online pass.
#include <float.h>

namespace {

__device__ __forceinline__ float warp_max(float v) {
#pragma unroll
    for (int d = 16; d; d >>= 1) v = fmaxf(v, __shfl_xor_sync(~0u, v, d));
    return v;
}
__device__ __forceinline__ float warp_add(float v) {
#pragma unroll
    for (int d = 16; d; d >>= 1) v += __shfl_xor_sync(~0u, v, d);
    return v;
}

/* `EACH` elements a thread, LANES threads a row. */
template <int LANES, int EACH>
__global__ void __launch_bounds__(LANES > 128 ? LANES : 128) in_registers(const float *__restrict__ x, float *__restrict__ y, long rows, int cols) {
    constexpr int ROWS = LANES > 32 ? 1 : 4, WARPS = LANES / 32;
    int lane = threadIdx.x % LANES;
    long row = (long)blockIdx.x * ROWS + threadIdx.x / LANES;
    if (LANES == 32 && row >= rows) return;
    x += row * cols;
    y += row * cols;
    float v[EACH], top = -FLT_MAX, total = 0.0f;
#pragma unroll
    for (int k = 0; k < EACH; k++) {
        int c = k * LANES + lane;
        v[k] = c < cols ? __ldg(x + c) : -FLT_MAX;
    }
#pragma unroll
    for (int k = 0; k < EACH; k++) top = fmaxf(top, v[k]);
    top = warp_max(top);
    if (LANES > 32) {
        __shared__ float tops[WARPS];
        if (lane % 32 == 0) tops[lane / 32] = top;
        __syncthreads();
        top = warp_max(lane % 32 < WARPS ? tops[lane % 32] : -FLT_MAX);
    }
#pragma unroll
    for (int k = 0; k < EACH; k++) {
        v[k] = k * LANES + lane < cols ? __expf(v[k] - top) : 0.0f;
        total += v[k];
    }
    total = warp_add(total);
    if (LANES > 32) {
        __shared__ float totals[WARPS];
        if (lane % 32 == 0) totals[lane / 32] = total;
        __syncthreads();
        total = warp_add(lane % 32 < WARPS ? totals[lane % 32] : 0.0f);
    }
    float scale = 1.0f / total;
#pragma unroll
    for (int k = 0; k < EACH; k++) {
        int c = k * LANES + lane;
        if (c < cols) y[c] = v[k] * scale;
    }
}

__global__ void __launch_bounds__(1024) any_length(const float *__restrict__ x, float *__restrict__ y, long cols) {
    __shared__ float tops[32], totals[32];
    x += (long)blockIdx.x * cols;
    y += (long)blockIdx.x * cols;
    float top = -FLT_MAX, total = 0.0f;
    for (long c = threadIdx.x; c < cols; c += 1024) {
        float v = x[c];
        if (v > top) {
            total *= __expf(top - v);
            top = v;
        }
        total += __expf(v - top);
    }
    float all = warp_max(top);
    total = warp_add(total * __expf(top - all));
    if (threadIdx.x % 32 == 0) tops[threadIdx.x / 32] = all, totals[threadIdx.x / 32] = total;
    __syncthreads();
    float mine = tops[threadIdx.x % 32];
    top = warp_max(mine);
    total = warp_add(totals[threadIdx.x % 32] * __expf(mine - top));
    float scale = 1.0f / total;
    for (long c = threadIdx.x; c < cols; c += 1024) y[c] = __expf(x[c] - top) * scale;
}

template <int LANES, int EACH> void go(const float *x, float *y, long rows, long cols, cudaStream_t stream) {
    constexpr int each_block = LANES > 32 ? 1 : 4;
    in_registers<LANES, EACH><<<(unsigned)((rows + each_block - 1) / each_block), LANES * each_block, 0, stream>>>(x, y, rows, (int)cols);
}

} // namespace

static void softmax(const float *x, float *y, long rows, long cols, cudaStream_t stream) {
    if (cols <= 128) go<32, 4>(x, y, rows, cols, stream);
    else if (cols <= 512) go<32, 16>(x, y, rows, cols, stream);
    else if (cols <= 1024) go<128, 8>(x, y, rows, cols, stream);
    else if (cols <= 2048) go<256, 8>(x, y, rows, cols, stream);
    else if (cols <= 4096) go<512, 8>(x, y, rows, cols, stream);
    else if (cols <= 8192) go<1024, 8>(x, y, rows, cols, stream);
    else if (cols <= 16384) go<1024, 16>(x, y, rows, cols, stream);
    else if (cols <= 32768) go<1024, 32>(x, y, rows, cols, stream);
    else any_length<<<(unsigned)rows, 1024, 0, stream>>>(x, y, cols);
}
