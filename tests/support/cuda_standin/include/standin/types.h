/* Types of the runtime API, with CUDA's names and numbers. */
#pragma once

struct CUstream_st { unsigned flags; };
typedef CUstream_st *cudaStream_t;
namespace kpd_standin { struct Work; }
struct CUgraph_st { kpd_standin::Work *first, *last; };
typedef CUgraph_st *cudaGraph_t, *cudaGraphExec_t;
enum cudaStreamCaptureMode { cudaStreamCaptureModeGlobal, cudaStreamCaptureModeThreadLocal, cudaStreamCaptureModeRelaxed };
enum cudaStreamCaptureStatus { cudaStreamCaptureStatusNone, cudaStreamCaptureStatusActive, cudaStreamCaptureStatusInvalidated };
#define cudaStreamLegacy ((cudaStream_t)1)
#define cudaStreamPerThread ((cudaStream_t)2)

/* An event that is recorded while its stream is captured also knows what that stream had submitted by then. */
struct CUevent_st { uint64_t ns; CUgraph_st *graph; cudaStream_t of; int submitted; };
typedef CUevent_st *cudaEvent_t;

enum : unsigned { cudaStreamDefault = 0, cudaStreamNonBlocking = 1 };
enum : unsigned { cudaDeviceScheduleAuto = 0, cudaDeviceScheduleSpin = 1, cudaDeviceScheduleYield = 2, cudaDeviceScheduleBlockingSync = 4 };
enum : unsigned { cudaEventDefault = 0, cudaEventBlockingSync = 1, cudaEventDisableTiming = 2 };

typedef void (CUDART_CB *cudaHostFn_t)(void *);

enum cudaMemcpyKind {
    cudaMemcpyHostToHost,
    cudaMemcpyHostToDevice,
    cudaMemcpyDeviceToHost,
    cudaMemcpyDeviceToDevice,
    cudaMemcpyDefault
};
enum : unsigned { cudaHostAllocDefault = 0, cudaHostAllocPortable = 1, cudaHostAllocMapped = 2, cudaHostAllocWriteCombined = 4 };
enum : unsigned { cudaHostRegisterDefault = 0, cudaHostRegisterPortable = 1, cudaHostRegisterMapped = 2 };
enum : unsigned { cudaMemAttachGlobal = 1, cudaMemAttachHost = 2 };

struct cudaFuncAttributes {
    size_t sharedSizeBytes, constSizeBytes, localSizeBytes;
    int maxThreadsPerBlock, numRegs, ptxVersion, binaryVersion, cacheModeCA, maxDynamicSharedSizeBytes;
    int preferredShmemCarveout;
};
enum cudaFuncAttribute {
    cudaFuncAttributeMaxDynamicSharedMemorySize = 8,
    cudaFuncAttributePreferredSharedMemoryCarveout = 9,
};
enum cudaFuncCache { cudaFuncCachePreferNone, cudaFuncCachePreferShared, cudaFuncCachePreferL1, cudaFuncCachePreferEqual };

#define KPD_ATTRIBUTES(X)                                                                                              \
    X(cudaDevAttrMaxThreadsPerBlock, 1, 1024)                                                                          \
    X(cudaDevAttrMaxBlockDimX, 2, 1024)                                                                                \
    X(cudaDevAttrMaxBlockDimY, 3, 1024)                                                                                \
    X(cudaDevAttrMaxBlockDimZ, 4, 64)                                                                                  \
    X(cudaDevAttrMaxGridDimX, 5, 0x7fffffff)                                                                           \
    X(cudaDevAttrMaxGridDimY, 6, 65535)                                                                                \
    X(cudaDevAttrMaxGridDimZ, 7, 65535)                                                                                \
    X(cudaDevAttrMaxSharedMemoryPerBlock, 8, 48 << 10)                                                                 \
    X(cudaDevAttrWarpSize, 10, 32)                                                                                     \
    X(cudaDevAttrMaxRegistersPerBlock, 12, 65536)                                                                      \
    X(cudaDevAttrClockRate, 13, 1000000)                                                                               \
    X(cudaDevAttrMultiProcessorCount, 16, 4)                                                                           \
    X(cudaDevAttrIntegrated, 18, 0)                                                                                    \
    X(cudaDevAttrCanMapHostMemory, 19, 1)                                                                              \
    X(cudaDevAttrComputeMode, 20, 0)                                                                                   \
    X(cudaDevAttrMemoryClockRate, 36, 1000000)                                                                         \
    X(cudaDevAttrGlobalMemoryBusWidth, 37, 64)                                                                         \
    X(cudaDevAttrL2CacheSize, 38, 1 << 20)                                                                             \
    X(cudaDevAttrMaxThreadsPerMultiProcessor, 39, 2048)                                                                \
    X(cudaDevAttrUnifiedAddressing, 41, 1)                                                                             \
    X(cudaDevAttrComputeCapabilityMajor, 75, 9)                                                                        \
    X(cudaDevAttrComputeCapabilityMinor, 76, 0)                                                                        \
    X(cudaDevAttrMaxSharedMemoryPerMultiprocessor, 81, 228 << 10)                                                      \
    X(cudaDevAttrMaxRegistersPerMultiprocessor, 82, 65536)                                                             \
    X(cudaDevAttrManagedMemory, 83, 1)                                                                                 \
    X(cudaDevAttrCooperativeLaunch, 95, 0)                                                                             \
    X(cudaDevAttrMaxSharedMemoryPerBlockOptin, 97, 227 << 10)                                                          \
    X(cudaDevAttrMaxBlocksPerMultiprocessor, 106, 32)

enum cudaDeviceAttr {
#define X(name, number, value) name = number,
    KPD_ATTRIBUTES(X)
#undef X
};

struct cudaUUID_t { char bytes[16]; };

struct cudaDeviceProp {
    char name[256];
    cudaUUID_t uuid;
    size_t totalGlobalMem, sharedMemPerBlock, sharedMemPerMultiprocessor, sharedMemPerBlockOptin;
    int regsPerBlock, regsPerMultiprocessor, warpSize, maxThreadsPerBlock, maxThreadsDim[3], maxGridSize[3];
    int major, minor, multiProcessorCount, integrated, canMapHostMemory, memoryBusWidth, l2CacheSize;
    int persistingL2CacheMaxSize, maxThreadsPerMultiProcessor, maxBlocksPerMultiProcessor, unifiedAddressing;
    int pciBusID, pciDeviceID, pciDomainID, ECCEnabled, asyncEngineCount, concurrentKernels, managedMemory, cooperativeLaunch;
};
