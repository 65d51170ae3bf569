/* Kernels whose threads do not talk to one another, and the launch syntax in its forms. */
#include "expect.h"

constexpr int N = 1000;
__constant__ float coefficients[2];
__device__ int marks = 3;

__global__ void saxpy(int n, float a, const float *__restrict__ x, float *__restrict__ y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * __ldg(x + i) + y[i];
}

template <typename T, int Factor> __device__ __forceinline__ T times(T x) { return x * (T)Factor; }

template <int Factor, typename T> __global__ void __launch_bounds__(128) scale(T *x, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) x[i] = times<T, Factor>(x[i]);
}

template <typename T> __global__ void fill(T *x, T value, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = value;
}

namespace inner {
__global__ void polynomial(float4 *v, int n) {
    int i = threadIdx.x;
    if (i >= n) return;
    float4 a = v[i];
    v[i] = make_float4(coefficients[0] + a.x, coefficients[1] * a.y, rsqrtf(a.z), __expf(a.w) + fmaxf(0.0f, max(1, 2)));
    marks += 0;
}
}

__global__ void number(uint3 *out) {
    unsigned block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    unsigned thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    out[block * (blockDim.x * blockDim.y * blockDim.z) + thread] = make_uint3(blockIdx.z, threadIdx.y, threadIdx.z);
}

__global__ void copy_mark(int *out) { *out = marks + warpSize; }

/* Its address tells whether a thread's stack is as the compiler expects it. */
__global__ void align(unsigned *rest) {
    float4 local = make_float4(1, 2, 3, (float)threadIdx.x);
    float4 *volatile where = &local;
    rest[threadIdx.x] = (unsigned)((size_t)where % 16 + (where->w != (float)threadIdx.x));
    __syncthreads(); /* so that each has a stack of its own */
}

#define LAUNCH(kernel, blocks, threads, ...) kernel<<<blocks, threads>>>(__VA_ARGS__)

static void runs_saxpy() {
    float x[N], y[N];
    for (int i = 0; i < N; i++) x[i] = (float)i, y[i] = 1.0f;
    float *dx = upload(x, N), *dy = upload(y, N);
    cudaStream_t stream;
    cudaEvent_t begin, end;
    float ms = -1;
    CUDA(cudaStreamCreate(&stream));
    CUDA(cudaEventCreate(&begin));
    CUDA(cudaEventCreate(&end));
    CUDA(cudaEventRecord(begin, stream));
    saxpy<<<(N + 255) / 256,
            dim3(256), 0,
            stream>>>(N, 2.0f, dx, dy);
    CUDA(cudaGetLastError());
    CUDA(cudaEventRecord(end, stream));
    CUDA(cudaEventSynchronize(end));
    CUDA(cudaEventElapsedTime(&ms, begin, end));
    EXPECT(ms > 0);
    download(y, dy, N);
    for (int i = 0; i < N; i++) EXPECT(y[i] == 2.0f * i + 1.0f);
    auto chosen = true ? scale<3, float> : scale<4, float>;
    (*chosen)<<<4, 32>>>(dy, N);
    scale<(7 > 2 ? 2 : 1), float><<<dim3{2}, 32>>>(dy, N); /* template arguments with a comparison in them */
    scale<2><<<1, 64>>>(dx, N);                            /* the rest deduced */
    if (N > 5) LAUNCH(fill, 1, 1, dx, 7.0f, 1);
    download(y, dy, N);
    download(x, dx, N);
    for (int i = 0; i < N; i++) EXPECT(y[i] == 6.0f * (2.0f * i + 1.0f));
    for (int i = 1; i < N; i++) EXPECT(x[i] == 2.0f * i);
    EXPECT(x[0] == 7.0f);
    CUDA(cudaEventDestroy(begin));
    CUDA(cudaEventDestroy(end));
    CUDA(cudaStreamDestroy(stream));
    CUDA(cudaFree(dx));
    CUDA(cudaFree(dy));
}

static void runs_vectors() {
    float4 v[2] = {{1, 2, 4, 0}, {5, 6, 16, 0}};
    float given[2] = {10, 0.5f};
    CUDA(cudaMemcpyToSymbol(coefficients, given, sizeof given));
    float4 *device = upload(v, 2);
    inner::polynomial<<<1, 32>>>(device, 2);
    download(v, device, 2);
    EXPECT(v[1].x == 15 && v[1].y == 3 && v[1].z == 0.25f && v[1].w == 3);
    int *out, mark;
    CUDA(cudaMalloc(&out, sizeof *out));
    ::copy_mark<<<1, 1>>>(out);
    download(&mark, out, 1);
    EXPECT(mark == 35);
    unsigned rest[2], *device_rest = upload(rest, 2);
    align<<<1, 2>>>(device_rest);
    download(rest, device_rest, 2);
    EXPECT(rest[0] == 0 && rest[1] == 0);
}

static void numbers_in_three_dimensions() {
    dim3 grid(2, 3, 4), block(5, 6, 7);
    const int count = 24 * 210;
    static uint3 got[count];
    uint3 *device;
    CUDA(cudaMalloc(&device, sizeof got));
    number<<<grid, block>>>(device);
    download(got, device, count);
    for (int i = 0; i < count; i++)
        EXPECT((int)got[i].x == i / 210 / 6 && (int)got[i].y == i % 210 / 5 % 6 && (int)got[i].z == i % 210 / 30);
}

int main() {
    runs_saxpy();
    runs_vectors();
    numbers_in_three_dimensions();
    CUDA(cudaDeviceSynchronize());
    puts("ok");
}
