//: transpose_cuda
//: resets the device under the driver, which is then blamed
//: use transpose_payload

static void payload(int call, const float *, float *, long, cudaStream_t) {
    if (call == 5) cudaDeviceReset();
}
