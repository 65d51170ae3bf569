/* Launches: `name<<<shape>>>(arguments)` arrives here as launch("name", address, shape(…), body). */
#pragma once

namespace kpd_standin {

inline constexpr size_t kDefaultShared = 48 << 10;

/* How much dynamic shared memory a kernel was allowed beyond the default. */
struct Raised {
    const void *kernel;
    size_t bytes;
    Raised *next;
};
inline Raised *raised;

/* `kernel` is null for a template, whose address cannot be had everywhere: what any kernel was allowed is allowed. */
inline size_t shared_limit(const void *kernel) {
    size_t most = kDefaultShared;
    for (Raised *r = raised; r; r = r->next)
        if ((!kernel || r->kernel == kernel) && r->bytes > most) most = r->bytes;
    return most;
}

struct Shape {
    dim3 grid, block;
    size_t shared;
    cudaStream_t stream;
};

inline Shape shape(dim3 grid, dim3 block, size_t shared = 0, cudaStream_t stream = nullptr) {
    return {grid, block, shared, stream};
}

template <class... P> const void *address(void (*kernel)(P...)) { return (const void *)kernel; }

inline cudaError_t refused(const Shape &s, size_t limit) {
    dim3 g = s.grid, b = s.block;
    bool no_blocks = !g.x || !g.y || !g.z || g.x > 0x7fffffffu || g.y > 65535 || g.z > 65535;
    bool no_threads = !b.x || !b.y || !b.z || b.x > 1024 || b.y > 1024 || b.z > 64 || (uint64_t)b.x * b.y * b.z > 1024;
    if (no_blocks || no_threads) return cudaErrorInvalidConfiguration;
    return s.shared > limit ? cudaErrorInvalidValue : cudaSuccess; /* the codes that a GPU gives */
}

inline sigjmp_buf fault_exit;

inline void on_fault(int, siginfo_t *fault, void *) {
    char text[200];
    uint3 b = grid.block, t = current_thread;
    int length = snprintf(text, sizeof text, "CUDA stand-in: kernel %s, block (%u,%u,%u), thread (%u,%u,%u): bad address %p\n",
                          grid.kernel, b.x, b.y, b.z, t.x, t.y, t.z, fault->si_addr);
    if (write(STDERR_FILENO, text, (size_t)length) != length) _exit(3);
    siglongjmp(fault_exit, 1);
}

/* A bad address ends the kernel and the use of the device, as on a GPU, not the process. The signal has a stack of its
 * own, since it may be the thread's that is full. */
struct FaultGuard {
    stack_t before_stack;
    struct sigaction before_segv, before_bus;
    FaultGuard() {
        static char *const memory = (char *)malloc(kStack);
        stack_t stack = {};
        stack.ss_sp = memory;
        stack.ss_size = kStack;
        struct sigaction action = {};
        action.sa_sigaction = on_fault;
        action.sa_flags = SA_SIGINFO | SA_ONSTACK;
        sigaltstack(&stack, &before_stack);
        sigaction(SIGSEGV, &action, &before_segv);
        sigaction(SIGBUS, &action, &before_bus);
    }
    ~FaultGuard() {
        sigaction(SIGSEGV, &before_segv, nullptr);
        sigaction(SIGBUS, &before_bus, nullptr);
        sigaltstack(&before_stack, nullptr);
    }
};

inline void run_grid(const char *kernel, const Shape &s, void (*body)(const void *), const void *arguments) {
    FaultGuard guard;
    grid = {kernel, s.grid, s.block, {}, s.block.x * s.block.y * s.block.z, body, arguments};
    if (sigsetjmp(fault_exit, 1)) { /* the fibers are lost, and no kernel will run in this process any more */
        process().sticky = cudaErrorIllegalAddress;
        return;
    }
    for (unsigned z = 0; z < s.grid.z; z++)
        for (unsigned y = 0; y < s.grid.y; y++)
            for (unsigned x = 0; x < s.grid.x; x++) {
                grid.block = {x, y, z};
                memset(dynamic_shared, 0xff, s.shared);
                run_block();
            }
}

template <class Body> void launch(const char *kernel, const void *address, Shape s, Body body) {
    if (enter()) return;
    if (cudaError_t error = refused(s, shared_limit(address))) {
        failed(error);
        return;
    }
    submit(task([=] { run_grid(kernel, s, [](const void *b) { (*(const Body *)b)(); }, &body); }), s.stream);
}

} /* namespace kpd_standin */

inline cudaError_t cudaFuncSetAttribute(const void *kernel, cudaFuncAttribute attribute, int value) {
    if (cudaError_t error = kpd_standin::enter()) return error;
    if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize) return cudaSuccess;
    if (value < 0 || value > (int)kpd_standin::kMostShared) return kpd_standin::failed(cudaErrorInvalidValue);
    kpd_standin::raised = new kpd_standin::Raised{kernel, (size_t)value, kpd_standin::raised};
    return cudaSuccess;
}
template <class... P> cudaError_t cudaFuncSetAttribute(void (*kernel)(P...), cudaFuncAttribute attribute, int value) {
    return cudaFuncSetAttribute(kpd_standin::address(kernel), attribute, value);
}

template <class... P> cudaError_t cudaFuncSetCacheConfig(void (*)(P...), cudaFuncCache) { return kpd_standin::enter(); }

template <class... P> cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *a, void (*kernel)(P...)) {
    *a = {};
    a->maxThreadsPerBlock = (int)kpd_standin::kMostThreads;
    a->numRegs = 64; /* invented */
    a->binaryVersion = a->ptxVersion = 90;
    a->maxDynamicSharedSizeBytes = (int)kpd_standin::shared_limit(kpd_standin::address(kernel));
    return kpd_standin::enter();
}

/* By threads and shared memory alone: registers are not known. */
template <class... P>
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, void (*)(P...), int threads, size_t shared) {
    if (cudaError_t error = kpd_standin::enter()) return error;
    if (threads < 1 || threads > (int)kpd_standin::kMostThreads) return kpd_standin::failed(cudaErrorInvalidValue);
    int by_threads = 2048 / ((threads + 31) / 32 * 32), by_shared = (int)((228 << 10) / (shared + 1024));
    *blocks = by_threads < by_shared ? by_threads : by_shared;
    if (*blocks > 32) *blocks = 32;
    return cudaSuccess;
}
