// The device's memory, for the host's code. Each function returns CUDA's error, 0 where all is well.
#include <cuda_runtime.h>
#include <stdint.h>

extern "C" {

int prover_devices(int *count) { return cudaGetDeviceCount(count); }

int prover_alloc(uint32_t **at, size_t count) { return cudaMalloc((void **)at, count * sizeof(uint32_t)); }

int prover_free(uint32_t *at) { return cudaFree(at); }

int prover_put(uint32_t *to, const uint32_t *from, size_t count) {
    return cudaMemcpy(to, from, count * sizeof(uint32_t), cudaMemcpyHostToDevice);
}

int prover_get(uint32_t *to, const uint32_t *from, size_t count) {
    return cudaMemcpy(to, from, count * sizeof(uint32_t), cudaMemcpyDeviceToHost);
}
}
