/* For the programs that try the stand-in: each is ordinary CUDA, which nvcc compiles, too. */
#pragma once
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Stops the program, and says where, unless the condition holds. */
#define EXPECT(condition)                                                                                              \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);                                    \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)
#define CUDA(call) EXPECT((call) == cudaSuccess)

/* An array of the device with the host's values in it, and the way back. */
template <class T> T *upload(const T *values, int count) {
    T *device;
    CUDA(cudaMalloc(&device, count * sizeof(T)));
    CUDA(cudaMemcpy(device, values, count * sizeof(T), cudaMemcpyHostToDevice));
    return device;
}

template <class T> void download(T *values, const T *device, int count) {
    CUDA(cudaMemcpy(values, device, count * sizeof(T), cudaMemcpyDeviceToHost));
}
