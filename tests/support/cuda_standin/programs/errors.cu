/* What goes wrong: at the launch, in the kernel, in the parent of a fork. The first argument says which. */
#include "expect.h"
#include <sys/wait.h>
#include <unistd.h>

extern __shared__ float dynamic[];
__global__ void idle(int *x) { if (x) *x = 1; }
__global__ void uses_shared(float *x) { dynamic[threadIdx.x] = 1; *x = dynamic[threadIdx.x]; }
template <int N> __global__ void uses_more(float *x) { dynamic[N] = 1; *x = dynamic[N]; }
__global__ void far_away(int *x) { x[(size_t)1 << 40] = 1; }
__global__ void half_a_barrier() { if (threadIdx.x < 16) __syncthreads(); }
__global__ void two_warps_one_barrier() { if (threadIdx.x % 2) __syncthreads(); else __syncwarp(); }
__global__ void lost_lane(int *x) {
    if (threadIdx.x == 3) __syncwarp();
    else *x = __shfl_sync(~0u, 1, 0);
}

static void refused_launches() {
    float *x;
    CUDA(cudaMalloc(&x, 4));
    idle<<<1, 1025>>>(NULL);
    EXPECT(cudaPeekAtLastError() == cudaErrorInvalidConfiguration);
    EXPECT(cudaGetLastError() == cudaErrorInvalidConfiguration);
    EXPECT(cudaGetLastError() == cudaSuccess);
    idle<<<0, 32>>>(nullptr);
    EXPECT(!strcmp(cudaGetErrorName(cudaGetLastError()), "cudaErrorInvalidConfiguration"));
    idle<<<dim3(1, 65536), 32>>>(nullptr);
    EXPECT(!strcmp(cudaGetErrorString(cudaGetLastError()), "invalid configuration argument"));
    uses_shared<<<1, 32, 49 * 1024>>>(x);
    EXPECT(cudaGetLastError() == cudaErrorInvalidValue);
    CUDA(cudaFuncSetAttribute(uses_shared, cudaFuncAttributeMaxDynamicSharedMemorySize, 60 * 1024));
    uses_shared<<<1, 32, 49 * 1024>>>(x);
    CUDA(cudaGetLastError());
    uses_shared<<<1, 32, 61 * 1024>>>(x);
    EXPECT(cudaGetLastError() == cudaErrorInvalidValue);
    CUDA(cudaFuncSetAttribute(uses_more<4>, cudaFuncAttributeMaxDynamicSharedMemorySize, 100 * 1024));
    uses_more<4><<<1, 1, 99 * 1024>>>(x);
    CUDA(cudaDeviceSynchronize());
    EXPECT(cudaMalloc(&x, (size_t)1 << 50) == cudaErrorMemoryAllocation);
    EXPECT(cudaMemcpy(x, x, 4, (cudaMemcpyKind)9) == cudaErrorInvalidMemcpyDirection);
    cudaGetLastError();
}

static void a_bad_address() {
    int *x;
    CUDA(cudaMalloc(&x, 4));
    far_away<<<1, 32>>>(x);
    CUDA(cudaGetLastError()); /* the launch is good, and the kernel has not begun */
    EXPECT(cudaDeviceSynchronize() == cudaErrorIllegalAddress);
    EXPECT(cudaGetLastError() == cudaErrorIllegalAddress);
    EXPECT(cudaMalloc(&x, 4) == cudaErrorIllegalAddress); /* for good */
}

/* The answer of a forked process to its first call. */
static cudaError_t in_a_fork() {
    pid_t child = fork();
    if (!child) {
        int *x, got = 0;
        cudaError_t error = cudaMalloc(&x, 4);
        if (error) _exit((int)error);
        idle<<<1, 32>>>(x);
        _exit(cudaMemcpy(&got, x, 4, cudaMemcpyDeviceToHost) || got != 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return (cudaError_t)WEXITSTATUS(status);
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "";
    if (!strcmp(what, "launch")) refused_launches();
    if (!strcmp(what, "address")) a_bad_address();
    if (!strcmp(what, "fork")) {
        CUDA(in_a_fork());
        CUDA(cudaFree(nullptr));
        EXPECT(in_a_fork() == cudaErrorInitializationError);
    }
    if (!strcmp(what, "barrier")) half_a_barrier<<<2, 48>>>();
    if (!strcmp(what, "divided")) two_warps_one_barrier<<<1, 64>>>();
    int *x;
    if (!strcmp(what, "lane") && !cudaMalloc(&x, 4)) lost_lane<<<1, 32>>>(x);
    cudaDeviceSynchronize();
    puts("ok");
}
