/* Error codes with CUDA's numbers, names and texts. */
#pragma once

#define KPD_ERRORS(X)                                                                                                  \
    X(cudaSuccess, 0, "no error")                                                                                      \
    X(cudaErrorInvalidValue, 1, "invalid argument")                                                                    \
    X(cudaErrorMemoryAllocation, 2, "out of memory")                                                                   \
    X(cudaErrorInitializationError, 3, "initialization error")                                                         \
    X(cudaErrorInvalidConfiguration, 9, "invalid configuration argument")                                              \
    X(cudaErrorInvalidDevicePointer, 17, "invalid device pointer")                                                     \
    X(cudaErrorInvalidMemcpyDirection, 21, "invalid copy direction for memcpy")                                        \
    X(cudaErrorInvalidDeviceFunction, 98, "invalid device function")                                                   \
    X(cudaErrorNoDevice, 100, "no CUDA-capable device is detected")                                                    \
    X(cudaErrorInvalidDevice, 101, "invalid device ordinal")                                                           \
    X(cudaErrorInvalidResourceHandle, 400, "invalid resource handle")                                                  \
    X(cudaErrorNotReady, 600, "device not ready")                                                                      \
    X(cudaErrorIllegalAddress, 700, "an illegal memory access was encountered")                                        \
    X(cudaErrorLaunchOutOfResources, 701, "too many resources requested for launch")                                   \
    X(cudaErrorLaunchTimeout, 702, "the launch timed out and was terminated")                                          \
    X(cudaErrorMisalignedAddress, 716, "misaligned address")                                                           \
    X(cudaErrorLaunchFailure, 719, "unspecified launch failure")                                                       \
    X(cudaErrorNotSupported, 801, "operation not supported")                                                           \
    X(cudaErrorStreamCaptureUnsupported, 900, "operation not permitted when stream is capturing")                      \
    X(cudaErrorStreamCaptureInvalidated, 901, "operation failed due to a previous error during capture")              \
    X(cudaErrorStreamCaptureUnjoined, 904, "capturing stream has unjoined work")                                      \
    X(cudaErrorUnknown, 999, "unknown error")

enum cudaError {
#define X(name, number, text) name = number,
    KPD_ERRORS(X)
#undef X
};
typedef enum cudaError cudaError_t;

static inline const char *cudaGetErrorName(cudaError_t error) {
    switch (error) {
#define X(name, number, text) case name: return #name;
        KPD_ERRORS(X)
#undef X
    }
    return "unrecognized error code";
}

static inline const char *cudaGetErrorString(cudaError_t error) {
    switch (error) {
#define X(name, number, text) case name: return text;
        KPD_ERRORS(X)
#undef X
    }
    return "unrecognized error code";
}
