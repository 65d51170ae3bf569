/* The device: one, invented. Its figures are the stand-in's, small where tests want small buffers. */
#pragma once

inline cudaError_t cudaDeviceGetAttribute(int *result, cudaDeviceAttr attribute, int device) {
    if (cudaError_t error = kpd_standin::enter()) return error;
    if (device) return kpd_standin::failed(cudaErrorInvalidDevice);
    switch (attribute) {
#define X(name, number, value) case name: *result = value; return cudaSuccess;
        KPD_ATTRIBUTES(X)
#undef X
    }
    return kpd_standin::failed(cudaErrorInvalidValue);
}

inline cudaError_t cudaGetDeviceProperties(cudaDeviceProp *p, int device) {
    if (cudaError_t error = kpd_standin::enter()) return error;
    if (device) return kpd_standin::failed(cudaErrorInvalidDevice);
    *p = {};
    strcpy(p->name, "kpd CPU stand-in");
    p->totalGlobalMem = kpd_standin::kMemory;
    p->sharedMemPerBlock = kpd_standin::kDefaultShared;
    p->sharedMemPerBlockOptin = kpd_standin::kMostShared;
    p->sharedMemPerMultiprocessor = 228 << 10;
    p->regsPerBlock = p->regsPerMultiprocessor = 65536;
    p->warpSize = 32;
    p->maxThreadsPerBlock = p->maxThreadsDim[0] = p->maxThreadsDim[1] = 1024;
    p->maxThreadsDim[2] = 64;
    p->maxGridSize[0] = 0x7fffffff;
    p->maxGridSize[1] = p->maxGridSize[2] = 65535;
    p->major = 9;
    p->multiProcessorCount = 4;
    p->canMapHostMemory = p->unifiedAddressing = p->managedMemory = 1;
    p->memoryBusWidth = 64;
    p->l2CacheSize = 1 << 20;
    p->maxThreadsPerMultiProcessor = 2048;
    p->maxBlocksPerMultiProcessor = 32;
    return cudaSuccess;
}

inline cudaError_t cudaGetDeviceCount(int *count) {
    *count = 1;
    return kpd_standin::enter();
}
inline cudaError_t cudaGetDevice(int *device) {
    *device = 0;
    return kpd_standin::enter();
}
inline cudaError_t cudaSetDevice(int device) {
    cudaError_t error = kpd_standin::enter();
    return !error && device ? kpd_standin::failed(cudaErrorInvalidDevice) : error;
}
inline cudaError_t cudaSetDeviceFlags(unsigned) { return kpd_standin::enter(); }
inline cudaError_t cudaDriverGetVersion(int *version) {
    *version = CUDART_VERSION;
    return kpd_standin::enter();
}
inline cudaError_t cudaRuntimeGetVersion(int *version) { return cudaDriverGetVersion(version); }
inline cudaError_t cudaDeviceGetPCIBusId(char *text, int length, int device) {
    snprintf(text, (size_t)length, "0000:00:00.0");
    return device ? kpd_standin::failed(cudaErrorInvalidDevice) : kpd_standin::enter();
}
