/* A shared object with a kernel; FACTOR tells two of them apart. Names are the same in both, and in the program. */
#include <cuda_runtime.h>

template <int Width> __global__ void scale(float *x) {
    __shared__ float tile[Width * FACTOR];
    for (int i = 0; i < FACTOR; i++) tile[i * Width + threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    float sum = 0;
    for (int i = 0; i < FACTOR; i++) sum += tile[i * Width + threadIdx.x];
    x[threadIdx.x] = sum;
}

extern "C" void call(float *x, cudaStream_t stream) { scale<64><<<1, 64, 0, stream>>>(x); }
extern "C" void call_wrongly(float *x) { scale<64><<<1, 2000>>>(x); }
