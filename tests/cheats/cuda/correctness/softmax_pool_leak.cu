//: softmax_cuda -O3 -arch=sm_90
//: Rows of more than 16384 are done in chunks whose sums lie in scratch from cudaMallocAsync that is freed only after an error: every call leaks some KB of the pool (32 KB at 1024x32768; a server runs out of memory after hours).
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
    float m = -FLT_MAX;
#pragma unroll
    for (int n = 0; n < STEPS; n++)
        for (int k = 0; k < W; k++) m = fmaxf(m, v[n].lanes[k]);
    greatest = block_max<LANES>(m);
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

#define CHUNK 8192

/* A chunk's maximum, and the sum of its elements relative to it. */
template <int W> __global__ void __launch_bounds__(256) chunk_sums(const float *__restrict__ x, float2 *__restrict__ sums, long cols, unsigned chunks) {
    long row = blockIdx.x / chunks, from = (long)(blockIdx.x % chunks) * CHUNK, to = from + CHUNK < cols ? from + CHUNK : cols;
    x += row * cols;
    float mine = -FLT_MAX, total = 0.0f;
    vec<W> v[CHUNK / 256 / W];
#pragma unroll
    for (int n = 0; n < CHUNK / 256 / W; n++) {
        long c = from + (n * 256 + (long)threadIdx.x) * W;
        if (c < to) v[n] = *(const vec<W> *)(x + c);
        else
            for (int k = 0; k < W; k++) v[n].lanes[k] = -INFINITY;
    }
#pragma unroll
    for (int n = 0; n < CHUNK / 256 / W; n++)
        for (int k = 0; k < W; k++) mine = fmaxf(mine, v[n].lanes[k]);
    mine = block_max<256>(mine);
#pragma unroll
    for (int n = 0; n < CHUNK / 256 / W; n++)
        for (int k = 0; k < W; k++) total += __expf(v[n].lanes[k] - mine);
    total = block_sum<256>(total);
    if (threadIdx.x == 0) sums[blockIdx.x] = make_float2(mine, total);
}

template <int W> __global__ void __launch_bounds__(256) chunk_scaled(const float *__restrict__ x, float *__restrict__ y, const float2 *__restrict__ sums, long cols, unsigned chunks) {
    long row = blockIdx.x / chunks, from = (long)(blockIdx.x % chunks) * CHUNK, to = from + CHUNK < cols ? from + CHUNK : cols;
    x += row * cols;
    y += row * cols;
    sums += row * chunks;
    float greatest = -FLT_MAX, total = 0.0f;
    for (unsigned i = 0; i < chunks; i++) greatest = fmaxf(greatest, sums[i].x);
    for (unsigned i = 0; i < chunks; i++) total += sums[i].y * __expf(sums[i].x - greatest);
    float scale = 1.0f / total;
#pragma unroll 4
    for (long c = from + (long)threadIdx.x * W; c < to; c += 256 * W) {
        vec<W> v = *(const vec<W> *)(x + c);
        for (int k = 0; k < W; k++) v.lanes[k] = __expf(v.lanes[k] - greatest) * scale;
        *(vec<W> *)(y + c) = v;
    }
}

/* Long rows, in chunks, so that a few rows fill the device. */
template <int W> static void in_chunks(const float *x, float *y, long rows, long cols, cudaStream_t stream) {
    unsigned chunks = (unsigned)((cols + CHUNK - 1) / CHUNK);
    cudaStreamCaptureStatus captured = cudaStreamCaptureStatusNone;
    cudaStreamIsCapturing(stream, &captured);
    if (captured != cudaStreamCaptureStatusNone) {
        streamed<1024, W><<<(unsigned)rows, 1024, 0, stream>>>(x, y, cols);
        return;
    }
    float2 *sums = nullptr;
    if (cudaMallocAsync(&sums, rows * chunks * sizeof *sums, stream) != cudaSuccess) return;
    chunk_sums<W><<<(unsigned)(rows * chunks), 256, 0, stream>>>(x, sums, cols, chunks);
    chunk_scaled<W><<<(unsigned)(rows * chunks), 256, 0, stream>>>(x, y, sums, cols, chunks);
    if (cudaPeekAtLastError() != cudaSuccess) cudaFreeAsync(sums, stream);
}

template <int W> static void launch(const float *x, float *y, long rows, long cols, cudaStream_t stream) {
    unsigned fours = (unsigned)((rows + 3) / 4), all = (unsigned)rows;
    if (cols <= 128) kept<32, W, 4 / W><<<fours, dim3(32, 4), 0, stream>>>(x, y, rows, cols);
    else if (cols <= 1024) kept<32, W, 32 / W><<<fours, dim3(32, 4), 0, stream>>>(x, y, rows, cols);
    else if (cols <= 4096) kept<256, W, 16 / W><<<all, 256, 0, stream>>>(x, y, rows, cols);
    else if (cols <= 16384) kept<512, W, 32 / W><<<all, 512, 0, stream>>>(x, y, rows, cols);
    else if (rows * ((cols + CHUNK - 1) / CHUNK) < 0x7FFFFFFF) in_chunks<W>(x, y, rows, cols, stream);
    else streamed<1024, W><<<all, 1024, 0, stream>>>(x, y, cols);
}

static void softmax(const float *x, float *y, long rows, long cols, cudaStream_t stream) {
    if (cols % 4 == 0) launch<4>(x, y, rows, cols, stream);
    else launch<1>(x, y, rows, cols, stream);
}
