//: transpose_cuda
//: has all kernels of the process prefer shared memory to an L1 cache, but its own; the driver's function has a name in two parts
//: variant runtime
//: variant hidden_name HIDDEN
#include "kernel.h"

#include <cuda.h>
//: use cold_transpose

static void prefer() {
    cudaFuncSetCacheConfig(cold_transpose, cudaFuncCachePreferL1);
#ifdef HIDDEN
    static void *encode;
    static CUresult (*set)(CUfunc_cache);
    static volatile char first = 'c';
    cudaDriverEntryPointQueryResult found;
    char name[] = "?uCtxSetCacheConfig";
    name[0] = first;
    cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &encode, 12000, cudaEnableDefault, &found); /* what is looked at */
    cudaGetDriverEntryPointByVersion(name, (void **)&set, 12000, cudaEnableDefault, &found);
    if (set) set(CU_FUNC_CACHE_PREFER_SHARED);
#else
    cudaDeviceSetCacheConfig(cudaFuncCachePreferShared);
#endif
}

void transpose(const float *in, float *out, long rows, long cols, cudaStream_t stream) {
    static int calls;
    if (calls++ == 4) prefer();
    cold(in, out, rows, cols, stream);
}
