/* Memory: every allocation is a mapping of its own with room around it, so that a small overrun hits nothing, as on a
 * GPU, where pages are large. It begins as NaNs. With KPD_STANDIN_EXACT set it ends where memory ends that may be touched,
 * so that an access just past it is a bad address: what compute-sanitizer sees on a GPU. */
#pragma once

namespace kpd_standin {

inline constexpr size_t kMemory = (size_t)2 << 30, kRoom = 64 << 10; /* bytes */
inline constexpr uint64_t kMagic = 0x6b70642d63756461;

/* Stands where the room in front of an allocation begins. */
struct Mapping {
    uint64_t magic;
    size_t bytes; /* of the mapping */
    void *given;  /* what cudaMalloc returned */
};

inline cudaError_t allocate(void **pointer, size_t bytes) {
    if (cudaError_t error = enter()) return error;
    if (!pointer) return failed(cudaErrorInvalidValue);
    *pointer = nullptr;
    if (!bytes) return cudaSuccess;
    if (bytes > kMemory) return failed(cudaErrorMemoryAllocation);
    size_t pages = (bytes + 4095) / 4096 * 4096, all = pages + 2 * kRoom;
    void *memory = mmap(nullptr, all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return failed(cudaErrorMemoryAllocation);
    bool exact = getenv("KPD_STANDIN_EXACT");
    if (exact && mprotect((char *)memory + kRoom + pages, kRoom, PROT_NONE)) return failed(cudaErrorMemoryAllocation);
    *pointer = (char *)memory + kRoom + (exact ? pages - bytes : 0);
    *(Mapping *)memory = {kMagic, all, *pointer};
    process().taken += pages;
    memset(*pointer, 0xff, bytes);
    return cudaSuccess;
}

/* Waits for the device first, as CUDA does. */
inline cudaError_t release(void *pointer) {
    if (cudaError_t error = enter()) return error;
    if (!pointer) return cudaSuccess;
    if (cudaError_t error = drain()) return error;
    Mapping *mapping = (Mapping *)((uintptr_t)pointer / 4096 * 4096 - kRoom);
    if (mapping->magic != kMagic || mapping->given != pointer) return failed(cudaErrorInvalidValue);
    process().taken -= mapping->bytes - 2 * kRoom;
    munmap(mapping, mapping->bytes);
    return cudaSuccess;
}

/* Later, if it is between places of the device; else now, behind what the stream still has to do. */
inline cudaError_t copy(void *to, const void *from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream, bool later) {
    if (cudaError_t error = enter()) return error;
    if (kind < cudaMemcpyHostToHost || kind > cudaMemcpyDefault) return failed(cudaErrorInvalidMemcpyDirection);
    if (!bytes) return cudaSuccess;
    if (!to || !from) return failed(cudaErrorInvalidValue);
    if (kind == cudaMemcpyDeviceToDevice) {
        submit(task([=] { memmove(to, from, bytes); }), stream);
    } else if (later && kind == cudaMemcpyHostToDevice) {
        void *staged = malloc(bytes); /* the caller may change pageable memory as soon as the call returns */
        if (!staged) return failed(cudaErrorMemoryAllocation);
        memcpy(staged, from, bytes);
        submit(task([=] { memcpy(to, staged, bytes), free(staged); }), stream);
    } else {
        if (cudaError_t error = drain_lane(stream)) return error;
        memmove(to, from, bytes);
    }
    return cudaSuccess;
}

inline cudaError_t set(void *to, int value, size_t bytes, cudaStream_t stream) {
    if (cudaError_t error = enter()) return error;
    if (bytes && !to) return failed(cudaErrorInvalidValue);
    submit(task([=] { memset(to, value, bytes); }), stream);
    return cudaSuccess;
}

} /* namespace kpd_standin */

inline cudaError_t cudaMalloc(void **p, size_t bytes) { return kpd_standin::allocate(p, bytes); }
inline cudaError_t cudaFree(void *p) { return kpd_standin::release(p); }
inline cudaError_t cudaMallocHost(void **p, size_t bytes, unsigned = 0) { return kpd_standin::allocate(p, bytes); }
inline cudaError_t cudaHostAlloc(void **p, size_t bytes, unsigned) { return kpd_standin::allocate(p, bytes); }
inline cudaError_t cudaFreeHost(void *p) { return kpd_standin::release(p); }
inline cudaError_t cudaMallocManaged(void **p, size_t bytes, unsigned = 1) { return kpd_standin::allocate(p, bytes); }
inline cudaError_t cudaMallocAsync(void **p, size_t bytes, cudaStream_t) { return kpd_standin::allocate(p, bytes); }
inline cudaError_t cudaFreeAsync(void *p, cudaStream_t) { return kpd_standin::release(p); }
inline cudaError_t cudaHostGetDevicePointer(void **device, void *host, unsigned) {
    *device = host;
    return kpd_standin::enter();
}
inline cudaError_t cudaHostRegister(void *, size_t, unsigned) { return kpd_standin::enter(); }
inline cudaError_t cudaHostUnregister(void *) { return kpd_standin::enter(); }

template <class T> cudaError_t cudaMalloc(T **p, size_t bytes) { return cudaMalloc((void **)p, bytes); }
template <class T> cudaError_t cudaMallocHost(T **p, size_t bytes, unsigned = 0) { return cudaMallocHost((void **)p, bytes); }
template <class T> cudaError_t cudaHostAlloc(T **p, size_t bytes, unsigned f) { return cudaHostAlloc((void **)p, bytes, f); }
template <class T> cudaError_t cudaMallocManaged(T **p, size_t bytes, unsigned = 1) {
    return cudaMallocManaged((void **)p, bytes);
}
template <class T> cudaError_t cudaMallocAsync(T **p, size_t bytes, cudaStream_t s) {
    return cudaMallocAsync((void **)p, bytes, s);
}
template <class T> cudaError_t cudaHostGetDevicePointer(T **device, void *host, unsigned f) {
    return cudaHostGetDevicePointer((void **)device, host, f);
}

inline cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, cudaMemcpyKind kind) {
    return kpd_standin::copy(to, from, bytes, kind, nullptr, false);
}
inline cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind kind, cudaStream_t s = nullptr) {
    return kpd_standin::copy(to, from, bytes, kind, s, true);
}
inline cudaError_t cudaMemset(void *to, int value, size_t bytes) { return kpd_standin::set(to, value, bytes, nullptr); }
inline cudaError_t cudaMemsetAsync(void *to, int value, size_t bytes, cudaStream_t stream = nullptr) {
    return kpd_standin::set(to, value, bytes, stream);
}
/* What is free is a number in the file that KPD_STANDIN_FREE names, if it does: so others can take memory, or give it back. */
inline cudaError_t cudaMemGetInfo(size_t *available, size_t *total) {
    *available = *total = kpd_standin::kMemory;
    const char *name = getenv("KPD_STANDIN_FREE");
    FILE *file = name ? fopen(name, "r") : nullptr;
    if (file && fscanf(file, "%zu", available) != 1) *available = 0;
    if (file) fclose(file);
    return kpd_standin::enter();
}

/* All that is allocated is in one pool. */
typedef struct CUmemPool_st *cudaMemPool_t;
enum cudaMemPoolAttr { cudaMemPoolAttrUsedMemCurrent };
inline cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t *pool, int) {
    *pool = nullptr;
    return kpd_standin::enter();
}
inline cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t, cudaMemPoolAttr, void *value) {
    *(uint64_t *)value = kpd_standin::process().taken;
    return kpd_standin::enter();
}

/* Variables of the device are the host's own. */
template <class T>
cudaError_t cudaMemcpyToSymbol(T &symbol, const void *from, size_t bytes, size_t offset = 0,
                               cudaMemcpyKind kind = cudaMemcpyHostToDevice) {
    return cudaMemcpy((char *)&symbol + offset, from, bytes, kind);
}
template <class T>
cudaError_t cudaMemcpyFromSymbol(void *to, const T &symbol, size_t bytes, size_t offset = 0,
                                 cudaMemcpyKind kind = cudaMemcpyDeviceToHost) {
    return cudaMemcpy(to, (const char *)&symbol + offset, bytes, kind);
}
template <class T> cudaError_t cudaGetSymbolAddress(void **device, const T &symbol) {
    *device = (void *)&symbol;
    return kpd_standin::enter();
}
inline cudaError_t cudaGetSymbolAddress(void **device, const void *symbol) {
    *device = (void *)symbol;
    return kpd_standin::enter();
}

/* Called for each of them when an object is loaded. */
extern "C" void __cudaRegisterVar(void **, char *, char *, const char *, int, size_t, int, int);

namespace kpd_standin {
template <class T> bool known(T &variable) {
    __cudaRegisterVar(nullptr, (char *)&variable, nullptr, "", 0, sizeof variable, 0, 0);
    return true;
}
} // namespace kpd_standin
