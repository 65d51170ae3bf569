//: softmax_cuda
//: keeps a row in dynamic shared memory, more than 48 KB where the device lets it, by an attribute that is set once
//: use softmax_fast

__global__ static void kept_rows(const float *__restrict__ x, float *__restrict__ y, long cols) {
    extern __shared__ float row[];
    __shared__ float shared[32];
    x += blockIdx.x * cols;
    y += blockIdx.x * cols;
    float mine = -FLT_MAX, total = 0.0f;
    for (long c = threadIdx.x; c < cols; c += blockDim.x) mine = fmaxf(mine, row[c] = x[c]);
    float most = all_of(mine, true, shared);
    for (long c = threadIdx.x; c < cols; c += blockDim.x) total += row[c] = expf(row[c] - most);
    float scale = 1.0f / all_of(total, false, shared);
    for (long c = threadIdx.x; c < cols; c += blockDim.x) y[c] = row[c] * scale;
}

static void softmax(const float *x, float *y, long rows, long cols, cudaStream_t stream) {
    static int most_bytes;
    if (!most_bytes) {
        cudaDeviceGetAttribute(&most_bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0);
        most_bytes -= 1024;
        cudaFuncSetAttribute(kept_rows, cudaFuncAttributeMaxDynamicSharedMemorySize, most_bytes);
    }
    if (cols * 4 > most_bytes) return fast(x, y, rows, cols, stream);
    kept_rows<<<(unsigned)rows, cols <= 256 ? 64 : 256, (size_t)cols * 4, stream>>>(x, y, cols);
}
