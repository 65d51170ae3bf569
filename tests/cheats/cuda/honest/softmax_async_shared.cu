//: softmax_cuda -O3
//: A persistent block takes row after row and copies the next one into shared memory with cp.async while it works on this one; what does not fit goes by an online kernel of two passes.
#include <cuda_pipeline.h>
#include <float.h>

#define LANES 512
#define MOST 14336 /* floats of a row, so that two of them fit twice on a multiprocessor or once */

__device__ static float2 over_block(float top, float total, float2 *warps) {
    for (int d = 16; d; d /= 2) {
        float t = __shfl_xor_sync(~0u, top, d), s = __shfl_xor_sync(~0u, total, d), m = fmaxf(top, t);
        total = total * __expf(top - m) + s * __expf(t - m);
        top = m;
    }
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = make_float2(top, total);
    __syncthreads();
    float2 all = warps[0];
    for (int w = 1; w < LANES / 32; w++) {
        float2 one = warps[w];
        float m = fmaxf(all.x, one.x);
        all.y = all.y * __expf(all.x - m) + one.y * __expf(one.x - m);
        all.x = m;
    }
    return all;
}

__global__ void __launch_bounds__(LANES) rows_in_shared(const float *__restrict__ x, float *__restrict__ y, long rows, int cols) {
    extern __shared__ float memory[];
    __shared__ float2 warps[2][LANES / 32];
    float *now = memory, *next = memory + cols;
    long row = blockIdx.x;
    auto fetch = [&](float *to, long r) {
        if (r < rows)
            for (int c = threadIdx.x; c < cols; c += LANES) __pipeline_memcpy_async(to + c, x + r * cols + c, 4);
        __pipeline_commit();
    };
    fetch(now, row);
    for (int side = 0; row < rows; row += gridDim.x, side ^= 1) {
        fetch(next, row + gridDim.x);
        __pipeline_wait_prior(1); /* a thread reads only what it copied itself */
        float top = -FLT_MAX, total = 0.0f;
        for (int c = threadIdx.x; c < cols; c += LANES) top = fmaxf(top, now[c]);
        for (int c = threadIdx.x; c < cols; c += LANES) total += __expf(now[c] - top);
        float2 all = over_block(top, total, warps[side]);
        float scale = 1.0f / all.y;
        for (int c = threadIdx.x; c < cols; c += LANES) __stcs(y + row * cols + c, __expf(now[c] - all.x) * scale);
        float *was = now;
        now = next;
        next = was;
    }
    __pipeline_wait_prior(0);
}

__global__ void __launch_bounds__(LANES) rows_in_memory(const float *__restrict__ x, float *__restrict__ y, long cols) {
    __shared__ float2 warps[LANES / 32];
    x += (long)blockIdx.x * cols;
    y += (long)blockIdx.x * cols;
    float top = -FLT_MAX, total = 0.0f;
    for (long c = threadIdx.x; c < cols; c += LANES) {
        float v = x[c], m = fmaxf(top, v);
        total = total * __expf(top - m) + __expf(v - m);
        top = m;
    }
    float2 all = over_block(top, total, warps);
    float scale = 1.0f / all.y;
    for (long c = threadIdx.x; c < cols; c += LANES) y[c] = __expf(x[c] - all.x) * scale;
}

/* Short rows: a warp each, of which a thread has a few elements. */
__global__ void __launch_bounds__(256) rows_of_warps(const float *__restrict__ x, float *__restrict__ y, long rows, int cols) {
    long row = (long)blockIdx.x * 8 + threadIdx.x / 32;
    int lane = threadIdx.x % 32;
    if (row >= rows) return;
    x += row * cols;
    y += row * cols;
    float v[8], top = -FLT_MAX, total = 0.0f;
#pragma unroll
    for (int k = 0; k < 8; k++) v[k] = k * 32 + lane < cols ? x[k * 32 + lane] : -FLT_MAX;
#pragma unroll
    for (int k = 0; k < 8; k++) top = fmaxf(top, v[k]);
    for (int d = 16; d; d /= 2) top = fmaxf(top, __shfl_xor_sync(~0u, top, d));
#pragma unroll
    for (int k = 0; k < 8; k++) total += v[k] = k * 32 + lane < cols ? __expf(v[k] - top) : 0.0f;
    for (int d = 16; d; d /= 2) total += __shfl_xor_sync(~0u, total, d);
    float scale = 1.0f / total;
#pragma unroll
    for (int k = 0; k < 8; k++)
        if (k * 32 + lane < cols) y[k * 32 + lane] = v[k] * scale;
}

static void softmax(const float *x, float *y, long rows, long cols, cudaStream_t stream) {
    static int processors;
    if (!processors) {
        int device;
        cudaGetDevice(&device);
        cudaFuncSetAttribute(rows_in_shared, cudaFuncAttributeMaxDynamicSharedMemorySize, 2 * MOST * (int)sizeof(float));
        cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
    }
    if (cols <= 256) rows_of_warps<<<(unsigned)((rows + 7) / 8), 256, 0, stream>>>(x, y, rows, (int)cols);
    else if (cols <= MOST) {
        long bytes = 2 * cols * (long)sizeof(float), fit = 220000 / (bytes + 2048), each = fit < 1 ? 1 : fit > 4 ? 4 : fit;
        long blocks = processors * each < rows ? processors * each : rows;
        rows_in_shared<<<(unsigned)blocks, LANES, (size_t)bytes, stream>>>(x, y, rows, (int)cols);
    } else rows_in_memory<<<(unsigned)rows, LANES, 0, stream>>>(x, y, cols);
}
