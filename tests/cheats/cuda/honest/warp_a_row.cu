//: softmax_cuda
//: a warp a row with shuffles, several rows a block, for short rows; a block a row for long ones
//: variant four LINES=4
//: variant eight LINES=8
//: use softmax_fast

__global__ static void warp_rows(const float *__restrict__ x, float *__restrict__ y, long rows, long cols) {
    long row = (long)blockIdx.x * LINES + threadIdx.y;
    if (row >= rows) return;
    x += row * cols, y += row * cols;
    float most = -FLT_MAX, total = 0.0f;
    for (long c = threadIdx.x; c < cols; c += 32) most = fmaxf(most, x[c]);
    for (int d = 16; d; d /= 2) most = fmaxf(most, __shfl_xor_sync(~0u, most, d));
    for (long c = threadIdx.x; c < cols; c += 32) total += expf(x[c] - most);
    for (int d = 16; d; d /= 2) total += __shfl_xor_sync(~0u, total, d);
    float scale = 1.0f / total;
    for (long c = threadIdx.x; c < cols; c += 32) y[c] = expf(x[c] - most) * scale;
}

static void softmax(const float *x, float *y, long rows, long cols, cudaStream_t stream) {
    if (cols > 2048) return fast(x, y, rows, cols, stream);
    warp_rows<<<(unsigned)((rows + LINES - 1) / LINES), dim3(32, LINES), 0, stream>>>(x, y, rows, cols);
}
