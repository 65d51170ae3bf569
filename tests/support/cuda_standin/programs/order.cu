/* The stream runs behind the host: what is queued waits for a kernel that waits for the host. */
#include "expect.h"
#include <cuda_profiler_api.h>
#include <nvtx3/nvToolsExt.h>
#include <stdint.h>

static __device__ uint64_t global_timer() {
    uint64_t t;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(t));
    return t;
}

/* Until the host says so, or the time is over. */
__global__ void hold(volatile int *go, uint64_t limit_ns, int *held) {
    uint64_t start = global_timer();
    while (!*go && global_timer() - start < limit_ns) __nanosleep(100);
    *held = *go ? 1 : 2;
}

__global__ void add(int *x, int amount) { *x += amount; }

/* Streams that do not block: nobody waits for them but who names them, or an event of theirs. */
static void streams_apart() {
    int value = 0, *x = upload(&value, 1);
    cudaStream_t aside, ordered;
    cudaEvent_t added;
    CUDA(cudaStreamCreateWithFlags(&aside, cudaStreamNonBlocking));
    CUDA(cudaStreamCreate(&ordered));
    CUDA(cudaEventCreateWithFlags(&added, cudaEventDisableTiming));
    add<<<1, 1, 0, aside>>>(x, 1);
    CUDA(cudaEventRecord(added, aside));
    CUDA(cudaStreamWaitEvent(ordered, added, 0));
    add<<<1, 1, 0, ordered>>>(x, 10);
    add<<<1, 1, 0, aside>>>(x, 100);
    CUDA(cudaEventDestroy(added));
    download(&value, x, 1); /* on the default stream, which waits for `ordered` */
    EXPECT(value == 11 || value == 111);
    CUDA(cudaDeviceSynchronize());
    download(&value, x, 1);
    EXPECT(value == 111);
    CUDA(cudaStreamDestroy(aside));
}

int main() {
    streams_apart();
    int *go, *device_go, *x, value = 100, *held, how;
    CUDA(cudaHostAlloc(&go, sizeof *go, cudaHostAllocMapped));
    CUDA(cudaHostGetDevicePointer(&device_go, go, 0));
    CUDA(cudaMalloc(&x, sizeof *x));
    CUDA(cudaMalloc(&held, sizeof *held));
    cudaStream_t stream;
    cudaEvent_t first, last;
    CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CUDA(cudaEventCreate(&first));
    CUDA(cudaEventCreate(&last));
    *go = 0;
    hold<<<1, 1, 0, stream>>>(device_go, 20000000000ull, held);
    CUDA(cudaMemcpyAsync(x, &value, sizeof value, cudaMemcpyHostToDevice, stream));
    value = 0; /* the copy has been taken */
    CUDA(cudaEventRecord(first, stream));
    for (int i = 0; i < 10; i++) add<<<1, 1, 0, stream>>>(x, i);
    CUDA(cudaEventRecord(last, stream));
    float ms = 0;
    EXPECT(cudaEventElapsedTime(&ms, first, last) == cudaErrorNotReady);
    cudaGetLastError();
    *go = 1;
    nvtxRangePushA("held");
    CUDA(cudaProfilerStart());
    while (cudaEventQuery(last) == cudaErrorNotReady) continue;
    CUDA(cudaProfilerStop());
    nvtxRangePop();
    CUDA(cudaEventElapsedTime(&ms, first, last));
    EXPECT(ms > 0);
    CUDA(cudaMemcpy(&value, x, sizeof value, cudaMemcpyDeviceToHost));
    CUDA(cudaMemcpy(&how, held, sizeof how, cudaMemcpyDeviceToHost));
    EXPECT(value == 145 && how == 1);
    *go = 0; /* the host synchronises behind it: only the limit ends it */
    hold<<<1, 1, 0, stream>>>(device_go, 1000000ull, held);
    CUDA(cudaStreamSynchronize(stream));
    CUDA(cudaMemcpy(&how, held, sizeof how, cudaMemcpyDeviceToHost));
    EXPECT(how == 2);
    int l2 = 0, blocks = 0;
    cudaDeviceProp properties;
    CUDA(cudaDeviceGetAttribute(&l2, cudaDevAttrL2CacheSize, 0));
    CUDA(cudaGetDeviceProperties(&properties, 0));
    CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, add, 256, 0));
    EXPECT(l2 > 0 && l2 == properties.l2CacheSize && properties.major == 9 && blocks == 8);
    CUDA(cudaFreeHost(go));
    CUDA(cudaFree(x));
    CUDA(cudaGetLastError());
    puts("ok");
}
