//: softmax_cuda -O3
//: Online softmax with vectors of four where the length of a row allows them: one pass for maximum and sum and a second, mostly from the cache, that writes; a warp for short rows, a block for long ones.
#include <float.h>
#include <math.h>

struct state {
    float m, s;
};

__device__ __forceinline__ state merge(state a, state b) {
    float m = fmaxf(a.m, b.m);
    return {m, a.s * __expf(a.m - m) + b.s * __expf(b.m - m)};
}

__device__ __forceinline__ void feed(state &a, float4 v) {
    float m = fmaxf(fmaxf(fmaxf(v.x, v.y), fmaxf(v.z, v.w)), a.m);
    a.s = a.s * __expf(a.m - m) + ((__expf(v.x - m) + __expf(v.y - m)) + (__expf(v.z - m) + __expf(v.w - m)));
    a.m = m;
}

__device__ __forceinline__ void feed(state &a, float v) { a = merge(a, {v, 1.0f}); }

template <int THREADS, typename T>
__global__ void __launch_bounds__(THREADS > 32 ? THREADS : 128) online(const T *__restrict__ x, T *__restrict__ y, long rows, long count) {
    __shared__ state warps[THREADS / 32];
    const long row = (long)blockIdx.x * blockDim.y + threadIdx.y; /* four warps of a block have a row each */
    if (THREADS == 32 && row >= rows) return;
    const T *from = x + row * count;
    T *to = y + row * count;
    state mine = {-FLT_MAX, 0.0f};
#pragma unroll 4
    for (long i = threadIdx.x; i < count; i += THREADS) feed(mine, from[i]);
    for (int d = 16; d; d /= 2) mine = merge(mine, {__shfl_xor_sync(~0u, mine.m, d), __shfl_xor_sync(~0u, mine.s, d)});
    if (THREADS > 32) {
        if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = mine;
        __syncthreads();
        mine = warps[0];
        for (int w = 1; w < THREADS / 32; w++) mine = merge(mine, warps[w]);
    }
    float m = mine.m, scale = 1.0f / mine.s;
#pragma unroll 2
    for (long i = threadIdx.x; i < count; i += THREADS) {
        if constexpr (sizeof(T) == 16) {
            float4 v = from[i];
            to[i] = make_float4(__expf(v.x - m) * scale, __expf(v.y - m) * scale, __expf(v.z - m) * scale, __expf(v.w - m) * scale);
        } else to[i] = __expf(from[i] - m) * scale;
    }
}

template <typename T> static void by_length(const T *x, T *y, long rows, long count, cudaStream_t stream) {
    unsigned blocks = (unsigned)rows;
    if (count <= 64) online<32, T><<<(unsigned)((rows + 3) / 4), dim3(32, 4), 0, stream>>>(x, y, rows, count);
    else if (count <= 512) online<128, T><<<blocks, 128, 0, stream>>>(x, y, rows, count);
    else if (count <= 4096) online<256, T><<<blocks, 256, 0, stream>>>(x, y, rows, count);
    else online<1024, T><<<blocks, 1024, 0, stream>>>(x, y, rows, count);
}

static void softmax(const float *x, float *y, long rows, long cols, cudaStream_t stream) {
    if (cols % 4 == 0) by_length((const float4 *)x, (float4 *)y, rows, cols / 4, stream);
    else by_length(x, y, rows, cols, stream);
}
