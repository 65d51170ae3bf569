//: softmax_cuda
//: uses an exp with a cubic polynomial
//: use softmax_fast

__device__ static float cubic(float v) {
    v = fmaxf(v, -87.0f);
    float n = rintf(v * 1.44269504f), r = v - n * 0.693147181f;
    return ldexpf(0.99992807f + r * (1.00016431f + r * (0.50988848f + r * 0.16792145f)), (int)n);
}

__global__ static void rough(const float *__restrict__ x, float *__restrict__ y, long cols) {
    __shared__ float shared[32];
    x += blockIdx.x * cols;
    y += blockIdx.x * cols;
    float mine = -FLT_MAX, total = 0.0f;
    for (long c = threadIdx.x; c < cols; c += blockDim.x) mine = fmaxf(mine, x[c]);
    float most = all_of(mine, true, shared);
    for (long c = threadIdx.x; c < cols; c += blockDim.x) total += cubic(x[c] - most);
    float scale = 1.0f / all_of(total, false, shared);
    for (long c = threadIdx.x; c < cols; c += blockDim.x) y[c] = cubic(x[c] - most) * scale;
}

static void softmax(const float *x, float *y, long rows, long cols, cudaStream_t stream) {
    rough<<<(unsigned)rows, cols <= 256 ? 64 : 256, 0, stream>>>(x, y, cols);
    (void)fast;
}
