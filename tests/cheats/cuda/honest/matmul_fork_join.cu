//: matmul_cuda -O3
//: Style: plain float sums in registers over shared tiles; products of few tiles are split in two halves of k on two streams, forked and joined by events, with stream-ordered scratch memory.
#include "kernel.h"

constexpr int kSide = 64, kStep = 16, kLanes = 256;

/* Plain sums in float: a thread has 4 by 4 of a tile of 64 by 64. */
__global__ void __launch_bounds__(kLanes) product_by_fma(const __half *__restrict__ a, const __half *__restrict__ b, float *__restrict__ c, long m,
                                                         long n, long k, unsigned across, long from, long end) {
    __shared__ float of_a[kStep][kSide + 4], of_b[kStep][kSide];
    long top = (long)(blockIdx.x / across) * kSide, left = (long)(blockIdx.x % across) * kSide;
    int t = threadIdx.x, ty = t / 16 * 4, tx = t % 16 * 4;
    float sums[4][4] = {};
    float na[4], nb[4];
    auto fetch = [&](long at) {
#pragma unroll
        for (int s = 0; s < 4; s++) {
            int i = t + s * kLanes, ra = i / kStep, ca = i % kStep, rb = i / kSide, cb = i % kSide;
            na[s] = top + ra < m && at + ca < end ? __half2float(a[(top + ra) * k + at + ca]) : 0.0f;
            nb[s] = at + rb < end && left + cb < n ? __half2float(b[(at + rb) * n + left + cb]) : 0.0f;
        }
    };
    fetch(from);
    for (long at = from; at < end; at += kStep) {
#pragma unroll
        for (int s = 0; s < 4; s++) {
            int i = t + s * kLanes;
            of_a[i % kStep][i / kStep] = na[s];
            of_b[i / kSide][i % kSide] = nb[s];
        }
        __syncthreads();
        if (at + kStep < end) fetch(at + kStep);
#pragma unroll
        for (int l = 0; l < kStep; l++) {
            float4 va = *(const float4 *)&of_a[l][ty], vb = *(const float4 *)&of_b[l][tx];
            float ra[4] = {va.x, va.y, va.z, va.w}, rb[4] = {vb.x, vb.y, vb.z, vb.w};
#pragma unroll
            for (int r = 0; r < 4; r++)
#pragma unroll
                for (int s = 0; s < 4; s++) sums[r][s] = fmaf(ra[r], rb[s], sums[r][s]);
        }
        __syncthreads();
    }
#pragma unroll
    for (int r = 0; r < 4; r++)
#pragma unroll
        for (int s = 0; s < 4; s++)
            if (top + ty + r < m && left + tx + s < n) c[(top + ty + r) * n + left + tx + s] = sums[r][s];
}

__global__ void __launch_bounds__(256) add_to(float *__restrict__ c, const float *__restrict__ other, long count) {
    for (long i = (long)blockIdx.x * 256 + threadIdx.x; i < count; i += (long)gridDim.x * 256) c[i] += other[i];
}

struct aside {
    cudaStream_t stream;
    cudaEvent_t begun, ended;
    cudaMemPool_t pool;
};

static aside &helper() {
    static aside one;
    if (!one.stream) {
        cudaStreamCreateWithFlags(&one.stream, cudaStreamNonBlocking);
        cudaEventCreateWithFlags(&one.begun, cudaEventDisableTiming);
        cudaEventCreateWithFlags(&one.ended, cudaEventDisableTiming);
        cudaMemPoolProps props = {};
        props.allocType = cudaMemAllocationTypePinned;
        props.location.type = cudaMemLocationTypeDevice;
        cudaGetDevice(&props.location.id);
        cudaMemPoolCreate(&one.pool, &props);
        unsigned long long keep = 64ull << 20;
        cudaMemPoolSetAttribute(one.pool, cudaMemPoolAttrReleaseThreshold, &keep);
    }
    return one;
}

void matmul(const __half *a, const __half *b, float *c, long m, long n, long k, cudaStream_t stream) {
    unsigned across = (unsigned)((n + kSide - 1) / kSide), blocks = (unsigned)((m + kSide - 1) / kSide) * across;
    if (blocks >= 132 || k < 1024) {
        product_by_fma<<<blocks, kLanes, 0, stream>>>(a, b, c, m, n, k, across, 0, k);
        return;
    }
    aside &h = helper();
    float *other = nullptr;
    long half = k / 2 / kStep * kStep;
    cudaMallocFromPoolAsync((void **)&other, (size_t)m * n * sizeof(float), h.pool, stream);
    cudaEventRecord(h.begun, stream); /* after the inputs, and after the allocation */
    cudaStreamWaitEvent(h.stream, h.begun, 0);
    product_by_fma<<<blocks, kLanes, 0, h.stream>>>(a, b, other, m, n, k, across, half, k);
    cudaEventRecord(h.ended, h.stream);
    product_by_fma<<<blocks, kLanes, 0, stream>>>(a, b, c, m, n, k, across, 0, half);
    cudaStreamWaitEvent(stream, h.ended, 0);
    add_to<<<264, 256, 0, stream>>>(c, other, m * n);
    cudaFreeAsync(other, stream);
}
