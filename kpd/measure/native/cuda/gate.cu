/* Kernels that keep a stream, or a part of the device, busy until the host lets them go. */
#include "device.h"

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
