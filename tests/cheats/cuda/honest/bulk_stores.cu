//: softmax_cuda
//: rows come and go by bulk copies: a fence before the one that goes, and a wait before its shared memory is used again
#include <float.h>
#include <stdint.h>
//: use softmax_fast

#define THREADS 256
#define LONGEST 8192 /* floats of a row: twice 32 KiB */

__device__ static uint32_t shared_at(const void *p) { return (uint32_t)__cvta_generic_to_shared(p); }

__device__ static void wait(uint64_t *barrier, uint32_t phase) {
    uint32_t done = 0;
    while (!done)
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                     : "=r"(done)
                     : "r"(shared_at(barrier)), "r"(phase)
                     : "memory");
}

__device__ static void ask(float *to, const float *from, uint32_t bytes, uint64_t *barrier) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_at(barrier)), "r"(bytes) : "memory");
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(shared_at(to)),
                 "l"(from), "r"(bytes), "r"(shared_at(barrier))
                 : "memory");
}

/* Two rows are in shared memory at once: while one is worked on, the next one comes. */
__global__ void __launch_bounds__(THREADS) bulk_rows(const float *__restrict__ x, float *__restrict__ y, long rows, long cols) {
    extern __shared__ __align__(128) float kept[];
    __shared__ uint64_t came[2];
    __shared__ float shared[32];
    uint32_t bytes = (uint32_t)cols * 4;
    if (threadIdx.x == 0) {
        for (int s = 0; s < 2; s++) asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_at(came + s)) : "memory");
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();
    if (threadIdx.x == 0) ask(kept, x + blockIdx.x * cols, bytes, came);
    int step = 0;
    for (long r = blockIdx.x; r < rows; r += gridDim.x, step++) {
        float *row = kept + step % 2 * cols;
        if (threadIdx.x == 0 && r + gridDim.x < rows) {
            asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory"); /* what the row before went out from */
            ask(kept + (step + 1) % 2 * cols, x + (r + gridDim.x) * cols, bytes, came + (step + 1) % 2);
        }
        wait(came + step % 2, step / 2 & 1);
        float most = -FLT_MAX, total = 0.0f;
        for (int c = threadIdx.x; c < cols; c += THREADS) most = fmaxf(most, row[c]);
        most = all_of(most, true, shared);
        for (int c = threadIdx.x; c < cols; c += THREADS) total += row[c] = expf(row[c] - most);
        float scale = 1.0f / all_of(total, false, shared);
        for (int c = threadIdx.x; c < cols; c += THREADS) row[c] *= scale;
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        __syncthreads();
        if (threadIdx.x == 0) {
            asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(y + r * cols), "r"(shared_at(row)), "r"(bytes)
                         : "memory");
            asm volatile("cp.async.bulk.commit_group;" ::: "memory");
        }
    }
    if (threadIdx.x == 0) asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}

static void softmax(const float *x, float *y, long rows, long cols, cudaStream_t stream) {
    static int processors;
    if (!processors) {
        int device = 0;
        cudaGetDevice(&device);
        cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
        cudaFuncSetAttribute(bulk_rows, cudaFuncAttributeMaxDynamicSharedMemorySize, 2 * LONGEST * 4);
    }
    if (cols % 4 || cols < 512 || cols > LONGEST) return fast(x, y, rows, cols, stream);
    int fit = (int)(200 * 1024 / (8 * cols + 1024)), blocks = processors * (fit < 8 ? fit : 8);
    bulk_rows<<<rows < blocks ? (unsigned)rows : (unsigned)blocks, THREADS, 8 * cols, stream>>>(x, y, rows, cols);
}
