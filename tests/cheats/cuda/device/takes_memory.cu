//: transpose_cuda
//: takes all memory of the device and keeps it; the host seems too small for the task
//: variant most LEAVE=0
//: variant leaks LEAVE=1
//: use transpose_payload

static void payload(int call, const float *, float *, long, cudaStream_t) {
    void *kept;
    size_t bytes = 1ull << 33;
    if (LEAVE) {
        cudaMalloc(&kept, 64u << 20);
        cudaGetLastError();
        return;
    }
    if (call != 2) return;
    for (; bytes > 1u << 20; bytes /= 2)
        while (cudaMalloc(&kept, bytes) == cudaSuccess) continue;
    cudaGetLastError();
}
