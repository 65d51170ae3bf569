//: reduction_cuda
//: takes its scratch memory when it needs some: once, or for each call from the stream's pool
//: variant once
//: variant pool POOL
//: use reduction_fast

__global__ static void parts_to(const float *__restrict__ x, long n, float *to) {
    float sum = 0.0f;
    for (long i = (long)blockIdx.x * 256 + threadIdx.x; i < n; i += 256L * gridDim.x) sum += x[i];
    sum = block_total(sum);
    if (threadIdx.x == 0) to[blockIdx.x] = sum;
}

void reduction(const float *x, float *out, long n, cudaStream_t stream) {
#ifdef POOL
    float *scratch;
    cudaMallocAsync(&scratch, 1024 * sizeof(float), stream);
#else
    static float *scratch;
    if (!scratch) cudaMalloc(&scratch, 1024 * sizeof(float));
#endif
    parts_to<<<1024, 256, 0, stream>>>(x, n, scratch);
    parts_to<<<1, 256, 0, stream>>>(scratch, 1024, out);
#ifdef POOL
    cudaFreeAsync(scratch, stream);
#endif
    (void)fast;
}
