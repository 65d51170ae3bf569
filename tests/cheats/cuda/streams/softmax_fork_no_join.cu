//: softmax_cuda -O3
//: Missing wait: half of a large matrix goes to a side stream, but the event that the caller's stream waits for is recorded before that half is launched, so the halves are never joined; both end at about the same time, and a synchronised device hides it.
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

/* R rows a warp, for rows of up to 32 * N. */
template <int N, int R, bool FOUR>
__global__ void __launch_bounds__(256) rows_by_warp(const float *__restrict__ x, float *__restrict__ y, long rows, long cols) {
    long first = ((long)blockIdx.x * 8 + threadIdx.x / 32) * R;
    int lane = threadIdx.x % 32;
    float v[R][N];
#pragma unroll
    for (int r = 0; r < R; r++)
        if (first + r < rows) read_row<32, N, FOUR>(v[r], x + (first + r) * cols, cols, lane);
#pragma unroll
    for (int r = 0; r < R; r++) {
        if (first + r >= rows) return;
        float top = v[r][0], total = 0.0f;
#pragma unroll
        for (int n = 1; n < N; n++) top = fmaxf(top, v[r][n]);
        top = warp_max(top);
#pragma unroll
        for (int n = 0; n < N; n++) total += v[r][n] = __expf(v[r][n] - top);
        write_row<32, N, FOUR>(v[r], 1.0f / warp_sum(total), y + (first + r) * cols, cols, lane);
    }
}

/* A row a block, for rows of up to T * N. */
template <int T, int N, bool FOUR>
__global__ void __launch_bounds__(T) rows_by_block(const float *__restrict__ x, float *__restrict__ y, long cols) {
    x += (long)blockIdx.x * cols;
    y += (long)blockIdx.x * cols;
    float v[N];
    read_row<T, N, FOUR>(v, x, cols, threadIdx.x);
    float top = v[0], total = 0.0f;
#pragma unroll
    for (int n = 1; n < N; n++) top = fmaxf(top, v[n]);
    top = block_max<T>(top);
#pragma unroll
    for (int n = 0; n < N; n++) total += v[n] = __expf(v[n] - top);
    write_row<T, N, FOUR>(v, 1.0f / block_sum<T>(total), y, cols, threadIdx.x);
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

template <bool FOUR> static void by_length(const float *x, float *y, long rows, long cols, cudaStream_t stream) {
    if (cols <= 128) rows_by_warp<4, 4, FOUR><<<(unsigned)((rows + 31) / 32), 256, 0, stream>>>(x, y, rows, cols);
    else if (cols <= 256) rows_by_warp<8, 2, FOUR><<<(unsigned)((rows + 15) / 16), 256, 0, stream>>>(x, y, rows, cols);
    else if (cols <= 512) rows_by_warp<16, 1, FOUR><<<(unsigned)((rows + 7) / 8), 256, 0, stream>>>(x, y, rows, cols);
    else if (cols <= 1024) rows_by_warp<32, 1, FOUR><<<(unsigned)((rows + 7) / 8), 256, 0, stream>>>(x, y, rows, cols);
    else if (cols <= 4096) rows_by_block<256, 16, FOUR><<<(unsigned)rows, 256, 0, stream>>>(x, y, cols);
    else if (cols <= 8192) rows_by_block<512, 16, FOUR><<<(unsigned)rows, 512, 0, stream>>>(x, y, cols);
    else if (cols <= 32768) rows_by_block<1024, 32, FOUR><<<(unsigned)rows, 1024, 0, stream>>>(x, y, cols);
    else rows_of_any_length<1024><<<(unsigned)rows, 1024, 0, stream>>>(x, y, cols);
}

static void part(const float *x, float *y, long rows, long cols, cudaStream_t stream) {
    if (cols % 4 == 0) by_length<true>(x, y, rows, cols, stream);
    else by_length<false>(x, y, rows, cols, stream);
}

static void softmax(const float *x, float *y, long rows, long cols, cudaStream_t stream) {
    static cudaStream_t side;
    static cudaEvent_t begun, ended;
    if (rows * cols < 12l << 20) return part(x, y, rows, cols, stream);
    if (!side) {
        cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking);
        cudaEventCreateWithFlags(&begun, cudaEventDisableTiming);
        cudaEventCreateWithFlags(&ended, cudaEventDisableTiming);
    }
    /* Two halves at once: the tail of one is filled by the other. */
    long half = rows / 2;
    cudaEventRecord(begun, stream);
    cudaStreamWaitEvent(side, begun, 0);
    cudaEventRecord(ended, side);
    part(x + half * cols, y + half * cols, rows - half, cols, side);
    part(x, y, half, cols, stream);
    cudaStreamWaitEvent(stream, ended, 0);
}
