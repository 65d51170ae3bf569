// The kernels, written plainly: each thread makes one pixel and reads all that it needs from global memory.
#include "kernels.h"

#include <cuda_runtime.h>

__global__ void blur_kernel(const uint8_t *in, uint8_t *out, int width, int height, int radius) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    int sum = 0;
    for (int dy = -radius; dy <= radius; ++dy) {
        for (int dx = -radius; dx <= radius; ++dx) {
            int sx = min(max(x + dx, 0), width - 1), sy = min(max(y + dy, 0), height - 1);
            sum += in[sy * width + sx];
        }
    }
    int count = (2 * radius + 1) * (2 * radius + 1);
    out[y * width + x] = (sum + count / 2) / count;
}

__global__ void sharpen_kernel(const uint8_t *in, const uint8_t *blurred, uint8_t *out, int n, int amount) {
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= n) return;
    int value = in[at] + (in[at] - blurred[at]) * amount / 64;
    out[at] = min(max(value, 0), 255);
}

__global__ void histogram_kernel(const uint8_t *in, int n, unsigned *histogram) {
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at < n) atomicAdd(&histogram[in[at]], 1u);
}

extern "C" int imaging_devices(int *count) { return cudaGetDeviceCount(count); }

extern "C" int imaging_run(const uint8_t *in, uint8_t *out, int width, int height, int radius, int amount,
                           unsigned histogram[256]) {
    int n = width * height;
    uint8_t *source = nullptr, *blurred = nullptr, *sharp = nullptr;
    unsigned *counts = nullptr;
    cudaMalloc(&source, n);
    cudaMalloc(&blurred, n);
    cudaMalloc(&sharp, n);
    cudaMalloc(&counts, 256 * sizeof(unsigned));
    cudaMemcpy(source, in, n, cudaMemcpyHostToDevice);
    cudaMemset(counts, 0, 256 * sizeof(unsigned));
    dim3 block(32, 8), grid((width + 31) / 32, (height + 7) / 8);
    blur_kernel<<<grid, block>>>(source, blurred, width, height, radius);
    sharpen_kernel<<<(n + 255) / 256, 256>>>(source, blurred, sharp, n, amount);
    histogram_kernel<<<(n + 255) / 256, 256>>>(sharp, n, counts);
    cudaMemcpy(out, sharp, n, cudaMemcpyDeviceToHost);
    cudaMemcpy(histogram, counts, 256 * sizeof(unsigned), cudaMemcpyDeviceToHost);
    cudaFree(source);
    cudaFree(blurred);
    cudaFree(sharp);
    cudaFree(counts);
    return cudaGetLastError();
}
