/* The task's own way: a thread an element. `done`, if there is one, tells that the answer is there already. */
__global__ void __launch_bounds__(256)
    cold_transpose(const float *__restrict__ in, float *__restrict__ out, long rows, long cols, const int *done) {
    if (done && *(volatile const int *)done) return;
    unsigned across = (unsigned)((cols + 31) / 32);
    long i = (long)(blockIdx.x / across) * 8 + threadIdx.x / 32, j = (long)(blockIdx.x % across) * 32 + threadIdx.x % 32;
    if (i < rows && j < cols) out[j * rows + i] = in[i * cols + j];
}

static unsigned cold_blocks(long rows, long cols) { return (unsigned)(((rows + 7) / 8) * ((cols + 31) / 32)); }

static void cold(const float *in, float *out, long rows, long cols, cudaStream_t stream, const int *done = nullptr) {
    cold_transpose<<<cold_blocks(rows, cols), 256, 0, stream>>>(in, out, rows, cols, done);
}
