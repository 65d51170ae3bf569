//: softmax_cuda
//: 64 powers of two are brought to constant memory at the first call; exps are one of them, a short polynomial and a shift
#include <float.h>
#include <math.h>
//: use softmax_fast

__constant__ static float powers[64]; /* 2^(j/64) */

/* e^v for v <= 0: error below 1e-6. What would be no normal number is left to the library. */
__device__ static float by_powers(const float *kept, float v) {
    if (!(v > -80.0f)) return expf(v);
    float whole = rintf(v * 92.33248262f); /* 64 / ln 2 */
    float rest = fmaf(whole, -0.010830424696f, v), square = rest * rest;
    int steps = (int)whole;
    float near = fmaf(square, fmaf(rest, 0.16666667f, 0.5f), rest + 1.0f);
    return __int_as_float(__float_as_int(kept[steps & 63] * near) + ((steps >> 6) << 23));
}

__global__ void __launch_bounds__(256) power_rows(const float *__restrict__ x, float *__restrict__ y, long cols) {
    __shared__ float shared[32], kept[64]; /* lanes ask for different powers: constant memory would serve them one by one */
    if (threadIdx.x < 64) kept[threadIdx.x] = powers[threadIdx.x];
    x += blockIdx.x * cols;
    y += blockIdx.x * cols;
    float mine = -FLT_MAX, total = 0.0f;
    for (long c = threadIdx.x; c < cols; c += blockDim.x) mine = fmaxf(mine, x[c]);
    float most = all_of(mine, true, shared);
    for (long c = threadIdx.x; c < cols; c += blockDim.x) total += by_powers(kept, x[c] - most);
    float scale = 1.0f / all_of(total, false, shared);
    for (long c = threadIdx.x; c < cols; c += blockDim.x) y[c] = by_powers(kept, x[c] - most) * scale;
}

static void softmax(const float *x, float *y, long rows, long cols, cudaStream_t stream) {
    static bool filled;
    if (!filled) {
        static float of_host[64];
        for (int j = 0; j < 64; j++) of_host[j] = (float)exp2(j / 64.0);
        cudaMemcpyToSymbolAsync(powers, of_host, sizeof of_host, 0, cudaMemcpyHostToDevice, stream);
        cudaStreamSynchronize(stream); /* other streams may be next */
        filled = true;
    }
    power_rows<<<(unsigned)rows, cols <= 256 ? 64 : 256, 0, stream>>>(x, y, cols);
    (void)fast;
}
