//: softmax_cuda -O3
//: Style: rows come into dynamic shared memory by cp.async and are read there three times; the amount of shared memory follows the length, and the longest rows go in two passes over memory.
#include <cuda_pipeline.h>

#include <float.h>

__device__ __forceinline__ float warp_max(float v) {
#pragma unroll
    for (int d = 16; d; d /= 2) v = fmaxf(v, __shfl_xor_sync(~0u, v, d));
    return v;
}
__device__ __forceinline__ float warp_sum(float v) {
#pragma unroll
    for (int d = 16; d; d /= 2) v += __shfl_xor_sync(~0u, v, d);
    return v;
}
template <int T> __device__ __forceinline__ float block_max(float v) {
    __shared__ float part[T / 32];
    v = warp_max(v);
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = v;
    __syncthreads();
    v = part[0];
#pragma unroll
    for (int w = 1; w < T / 32; w++) v = fmaxf(v, part[w]);
    return v;
}
template <int T> __device__ __forceinline__ float block_sum(float v) {
    __shared__ float part[T / 32];
    v = warp_sum(v);
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = v;
    __syncthreads();
    v = part[0];
#pragma unroll
    for (int w = 1; w < T / 32; w++) v += part[w];
    return v;
}

/* Part of a row in registers: thread `t` of `T` has N elements; four in a row each, where the length is a multiple of four. */
template <int T, int N, bool FOUR> __device__ __forceinline__ void read_row(float (&v)[N], const float *__restrict__ x, long cols, int t) {
    if (FOUR) {
#pragma unroll
        for (int s = 0; s < N / 4; s++) {
            long c = (long)(s * T + t) * 4;
            float4 f = c < cols ? __ldcs((const float4 *)(x + c)) : make_float4(-FLT_MAX, -FLT_MAX, -FLT_MAX, -FLT_MAX);
            v[4 * s] = f.x, v[4 * s + 1] = f.y, v[4 * s + 2] = f.z, v[4 * s + 3] = f.w;
        }
    } else {
#pragma unroll
        for (int s = 0; s < N; s++) v[s] = s * T + t < cols ? __ldcs(x + s * T + t) : -FLT_MAX;
    }
}
template <int T, int N, bool FOUR> __device__ __forceinline__ void write_row(float (&v)[N], float scale, float *__restrict__ y, long cols, int t) {
    if (FOUR) {
#pragma unroll
        for (int s = 0; s < N / 4; s++) {
            long c = (long)(s * T + t) * 4;
            if (c < cols) __stcs((float4 *)(y + c), make_float4(v[4 * s] * scale, v[4 * s + 1] * scale, v[4 * s + 2] * scale, v[4 * s + 3] * scale));
        }
    } else {
#pragma unroll
        for (int s = 0; s < N; s++)
            if (s * T + t < cols) __stcs(y + s * T + t, v[s] * scale);
    }
}

/* A row of any length: maximum and sum in one pass, the output in a second. */
template <int T> __global__ void __launch_bounds__(T) rows_of_any_length(const float *__restrict__ x, float *__restrict__ y, long cols) {
    x += (long)blockIdx.x * cols;
    y += (long)blockIdx.x * cols;
    float mine = -FLT_MAX, total = 0.0f;
    for (long c = threadIdx.x; c < cols; c += T) {
        float v = x[c];
        if (v > mine) {
            total *= __expf(mine - v);
            mine = v;
        }
        total += __expf(v - mine);
    }
    float top = block_max<T>(mine);
    float scale = 1.0f / block_sum<T>(total * __expf(mine - top));
    for (long c = threadIdx.x; c < cols; c += T) y[c] = __expf(x[c] - top) * scale;
}

constexpr size_t kMost = 200 << 10; /* bytes of shared memory that a block asks for */

/* Thread `t` of `step` copies its elements of a row; it alone reads them. */
__device__ __forceinline__ void copy_row(float *to, const float *__restrict__ x, long cols, int t, int step, bool four) {
    if (four)
        for (int c = 4 * t; c < cols; c += 4 * step) __pipeline_memcpy_async(to + c, x + c, 16);
    else
        for (int c = t; c < cols; c += step) __pipeline_memcpy_async(to + c, x + c, 4);
}

template <class F> __device__ __forceinline__ void each(float *row, long cols, int t, int step, bool four, F use) {
    if (four)
        for (int c = 4 * t; c < cols; c += 4 * step) {
            float4 f = *(float4 *)(row + c);
            use(f.x), use(f.y), use(f.z), use(f.w);
            *(float4 *)(row + c) = f;
        }
    else
        for (int c = t; c < cols; c += step) {
            float f = row[c];
            use(f);
            row[c] = f;
        }
}

__device__ __forceinline__ float top_of(const float *row, long cols, int t, int step, bool four) {
    float top = -FLT_MAX;
    if (four)
        for (int c = 4 * t; c < cols; c += 4 * step) {
            float4 f = *(const float4 *)(row + c);
            top = fmaxf(fmaxf(top, fmaxf(f.x, f.y)), fmaxf(f.z, f.w));
        }
    else
        for (int c = t; c < cols; c += step) top = fmaxf(top, row[c]);
    return top;
}

__device__ __forceinline__ void put_row(const float *row, float scale, float *__restrict__ y, long cols, int t, int step, bool four) {
    if (four)
        for (int c = 4 * t; c < cols; c += 4 * step) {
            float4 f = *(const float4 *)(row + c);
            *(float4 *)(y + c) = make_float4(f.x * scale, f.y * scale, f.z * scale, f.w * scale);
        }
    else
        for (int c = t; c < cols; c += step) y[c] = row[c] * scale;
}

template <int R> __global__ void __launch_bounds__(256) short_rows(const float *__restrict__ x, float *__restrict__ y, long rows, long cols, int pitch) {
    extern __shared__ float4 shared4[];
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    long first = ((long)blockIdx.x * 8 + warp) * R;
    float *mine = (float *)shared4 + (long)warp * R * pitch;
    bool four = cols % 4 == 0;
    for (int r = 0; r < R && first + r < rows; r++) copy_row(mine + r * pitch, x + (first + r) * cols, cols, lane, 32, four);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncwarp();
    for (int r = 0; r < R && first + r < rows; r++) {
        float *row = mine + r * pitch, total = 0.0f, top = warp_max(top_of(row, cols, lane, 32, four));
        each(row, cols, lane, 32, four, [&](float &f) { total += f = __expf(f - top); });
        put_row(row, 1.0f / warp_sum(total), y + (first + r) * cols, cols, lane, 32, four);
    }
}

template <int T> __global__ void __launch_bounds__(T) shared_rows(const float *__restrict__ x, float *__restrict__ y, long cols) {
    extern __shared__ float4 shared4[];
    float *row = (float *)shared4, total = 0.0f;
    bool four = cols % 4 == 0;
    x += (long)blockIdx.x * cols;
    y += (long)blockIdx.x * cols;
    copy_row(row, x, cols, threadIdx.x, T, four);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    float top = block_max<T>(top_of(row, cols, threadIdx.x, T, four));
    each(row, cols, threadIdx.x, T, four, [&](float &f) { total += f = __expf(f - top); });
    put_row(row, 1.0f / block_sum<T>(total), y, cols, threadIdx.x, T, four);
}

static void softmax(const float *x, float *y, long rows, long cols, cudaStream_t stream) {
    int pitch = (int)((cols + 3) / 4 * 4);
    size_t row = (size_t)pitch * 4;
    if (cols <= 256) short_rows<4><<<(unsigned)((rows + 31) / 32), 256, 32 * row, stream>>>(x, y, rows, cols, pitch);
    else if (cols <= 1024) short_rows<1><<<(unsigned)((rows + 7) / 8), 256, 8 * row, stream>>>(x, y, rows, cols, pitch);
    else if (cols <= 8192) shared_rows<256><<<(unsigned)rows, 256, row, stream>>>(x, y, cols);
    else if (cols <= (long)(kMost / 4)) {
        cudaFuncSetAttribute(shared_rows<1024>, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)kMost);
        shared_rows<1024><<<(unsigned)rows, 1024, row, stream>>>(x, y, cols);
    } else rows_of_any_length<1024><<<(unsigned)rows, 1024, 0, stream>>>(x, y, cols);
}
