//: softmax_cuda
//: has a table of block sizes in constant memory's place on the host, and rounds exps by exp2
//: use softmax_fast

__constant__ static float log2e = 1.44269504088896f;

__global__ static void by_exp2(const float *__restrict__ x, float *__restrict__ y, long cols) {
    __shared__ float shared[32];
    x += blockIdx.x * cols, y += blockIdx.x * cols;
    float mine = -FLT_MAX, total = 0.0f;
    for (long c = threadIdx.x; c < cols; c += blockDim.x) mine = fmaxf(mine, x[c]);
    float most = all_of(mine, true, shared);
    for (long c = threadIdx.x; c < cols; c += blockDim.x) total += exp2f((x[c] - most) * log2e);
    float scale = 1.0f / all_of(total, false, shared);
    for (long c = threadIdx.x; c < cols; c += blockDim.x) y[c] = exp2f((x[c] - most) * log2e) * scale;
}

static void softmax(const float *x, float *y, long rows, long cols, cudaStream_t stream) {
    static const short threads_of[] = {64, 64, 128, 256, 256};
    int at = cols <= 64 ? 0 : cols <= 256 ? 1 : cols <= 1024 ? 2 : cols <= 4096 ? 3 : 4;
    by_exp2<<<(unsigned)rows, threads_of[at], 0, stream>>>(x, y, cols);
    (void)fast;
}
