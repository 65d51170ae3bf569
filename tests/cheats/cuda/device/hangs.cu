//: transpose_cuda
//: leaves a kernel on the device that takes far longer than the time limit
//: variant on_the_stream OWN=0
//: variant on_its_own OWN=1
//: use transpose_payload

__global__ static void spins(volatile int *never) {
    for (long i = 0; i < 60000000000L && !*never; i++) __nanosleep(1000);
}

static void payload(int call, const float *, float *, long, cudaStream_t stream) {
    static int *never;
    cudaStream_t own = stream;
    if (call != 3) return;
    cudaMalloc(&never, 4);
    cudaMemset(never, 0, 4);
    if (OWN) cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking);
    spins<<<1, 1, 0, own>>>(never);
}
