//: transpose_cuda
//: changes limits of the device that the incumbent and later kernels live with
//: variant stack LIMIT=cudaLimitStackSize VALUE=65536
//: variant heap LIMIT=cudaLimitMallocHeapSize VALUE=4294967296
//: variant printf LIMIT=cudaLimitPrintfFifoSize VALUE=1073741824
//: variant fetch LIMIT=cudaLimitMaxL2FetchGranularity VALUE=32
//: use transpose_payload

static void payload(int call, const float *, float *, long, cudaStream_t) {
    if (call == 2) cudaDeviceSetLimit(LIMIT, VALUE);
}
