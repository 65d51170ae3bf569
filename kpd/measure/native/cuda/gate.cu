/* Kernels that keep a stream, or a part of the device, busy until the host lets them go, and one that brings inputs late. */
#include "device.h"

#define EARLY_NS 10000u /* how long before the inputs are there the next kernel may begin, if it does not ask to wait for them */
#define THREADS 512

static __device__ uint64_t device_clock(void) {
    uint64_t ns;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
    return ns;
}

/* One thread of a block looks, as it does through the bus; the others have its place on the device. */
static __global__ void hold(volatile int *opened, uint64_t limit_ns) {
    if (!threadIdx.x) {
        uint64_t start = device_clock();
        while (!opened[0]) {
            if (device_clock() - start < limit_ns) continue;
            opened[1] = 1;
            break;
        }
    }
    __syncthreads();
}

/* Make each word what it is not, after so long. A kernel that is launched as one that waits by itself, for what of this one it
 * needs (programmatic dependent launch), begins before that.
 */
static __global__ void inverted(uint32_t *words, size_t count, uint64_t after_ns) {
    size_t first = (size_t)blockIdx.x * THREADS + threadIdx.x, step = (size_t)gridDim.x * THREADS;
    uint64_t start = device_clock();
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;");
#endif
    while (device_clock() - start < after_ns) continue;
    for (size_t i = first; i < count; i += step) words[i] = ~words[i];
}

void wait_on_host(uint64_t ns) {
    for (uint64_t start = now_ns(); now_ns() - start < ns;) continue;
}

int gate_made(gate_t *gate, outcome *answer) {
    int *memory = NULL;
    if (!fine(cudaHostAlloc((void **)&memory, 2 * sizeof *memory, cudaHostAllocMapped), answer)) return 0;
    memory[0] = memory[1] = 0;
    gate->host = memory;
    return fine(cudaHostGetDevicePointer((void **)&gate->device, memory, 0), answer);
}

void gate_closed(const gate_t *gate, int blocks, int threads, uint64_t limit_ns, cudaStream_t stream) {
    gate->host[0] = gate->host[1] = 0;
    hold<<<(unsigned)blocks, (unsigned)threads, 0, stream>>>(gate->device, limit_ns);
}

void gate_opened(const gate_t *gate) {
    __sync_synchronize();
    gate->host[0] = 1;
}

void inputs_late(const gate_t *gate, char *memory, size_t bytes, int blocks, uint64_t limit_ns, cudaStream_t stream) {
    inverted<<<(unsigned)blocks, THREADS, 0, stream>>>((uint32_t *)memory, bytes / 4, 0);
    gate_closed(gate, 1, 1, limit_ns, stream);
    inverted<<<(unsigned)blocks, THREADS, 0, stream>>>((uint32_t *)memory, bytes / 4, EARLY_NS);
}
