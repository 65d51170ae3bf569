// Launches kernels in every way, and prints each launch before it: what a record of this program has to agree with.
//   launches            all ways, once        launches loop N     N launches of one kernel, and their time
//   launches kill       ends by SIGKILL       launches forever    never ends
// One line a launch: LAUNCH KERNEL GRID BLOCK SHARED NAME=VALUE…; what comes from a graph says GRAPH instead.
#include <cooperative_groups.h>
#include <cuda.h>
#include <cuda_runtime.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <thread>
#include <unistd.h>

#define OK(call)                                                                              \
    do {                                                                                      \
        cudaError_t rc = (call);                                                              \
        if (rc != cudaSuccess) {                                                              \
            printf("FAILED %s: %s\n", #call, cudaGetErrorString(rc));                         \
            exit(3);                                                                          \
        }                                                                                     \
    } while (0)

struct Pair { int first; double second; };
struct Large { float of[300]; int n; };
enum class Mode : short { plain = 7 };

__global__ void every_scalar(float *out, bool b, char c, signed char sc, unsigned char uc, short s, unsigned short us, int i,
                             unsigned u, long l, unsigned long ul, long long ll, unsigned long long ull, float f, double d,
                             Mode mode)
{
    if (threadIdx.x == 0)
        out[blockIdx.x] = b + c + sc + uc + s + us + i + u + l + ul + ll + ull + f + d + (short)mode;
}

__global__ void by_value(float *out, Pair pair, const __grid_constant__ Large large, size_t n)
{
    size_t at = blockIdx.x * size_t(blockDim.x) + threadIdx.x;
    if (at < n)
        out[at] = pair.first * pair.second + large.of[at % 300] + large.n;
}

template <typename T, int Width>
__global__ void scale(T *out, T factor, int n)
{
    int at = (blockIdx.x * blockDim.x + threadIdx.x) * Width;
    for (int i = at; i < at + Width && i < n; i++)
        out[i] *= factor;
}

extern "C" __global__ void saxpy(int n, float a, const float *x, float *y)
{
    for (int at = blockIdx.x * blockDim.x + threadIdx.x; at < n; at += gridDim.x * blockDim.x)
        y[at] += a * x[at];
}

namespace imaging {
__global__ void transpose(float *out, const float *in, int rows, int cols)
{
    extern __shared__ float tile[];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    for (int at = 0; at < 32; at += 8)
        if (x < cols && y + at < rows)
            tile[(threadIdx.y + at) * 33 + threadIdx.x] = in[(y + at) * cols + x];
    __syncthreads();
    x = blockIdx.y * 32 + threadIdx.x, y = blockIdx.x * 32 + threadIdx.y;
    for (int at = 0; at < 32; at += 8)
        if (x < rows && y + at < cols)
            out[(y + at) * rows + x] = tile[threadIdx.x * 33 + threadIdx.y + at];
}
}  // namespace imaging

__global__ void two_phases(float *out, int n)
{
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at < n)
        out[at] += 1;
    cooperative_groups::this_grid().sync();
    if (at + 1 < n)
        out[at] += 0.5f * (out[at + 1] > 0);
}

__global__ void in_clusters(float *out, int n)
{
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at < n)
        out[at] -= 1;
}

static float *a, *b;
static const int N = 1 << 20;
static std::mutex one_at_a_time;

template <typename... Values>
static void tell(const char *what, const char *kernel, dim3 grid, dim3 block, size_t shared, const char *format, Values... values)
{
    std::lock_guard<std::mutex> held(one_at_a_time);
    printf("%s %s %u,%u,%u %u,%u,%u %zu ", what, kernel, grid.x, grid.y, grid.z, block.x, block.y, block.z, shared);
    printf(format, values...);
    printf("\n");
    fflush(stdout);
}

static void launch_saxpy(int n, float by, cudaStream_t stream)
{
    tell("LAUNCH", "saxpy", 64, 256, 0, "n=%d a=%.9g", n, by);
    saxpy<<<64, 256, 0, stream>>>(n, by, a, b);
    OK(cudaGetLastError());
}

static void launch_transpose(int rows, int cols)
{
    dim3 grid((cols + 31) / 32, (rows + 31) / 32), block(32, 8);
    tell("LAUNCH", "imaging::transpose", grid, block, 32 * 33 * 4, "rows=%d cols=%d", rows, cols);
    imaging::transpose<<<grid, block, 32 * 33 * sizeof(float)>>>(b, a, rows, cols);
    OK(cudaGetLastError());
}

static void scalars()
{
    tell("LAUNCH", "every_scalar", 2, 32, 0,
         "b=1 c=65 sc=-3 uc=200 s=-30000 us=60000 i=-2000000000 u=4000000000 l=-5000000000 ul=5000000000 "
         "ll=-9000000000000000000 ull=18000000000000000000 f=%.9g d=%.17g mode=7", 1.1f, 2.2);
    every_scalar<<<2, 32>>>(a, true, 'A', -3, 200, -30000, 60000, -2000000000, 4000000000u, -5000000000l, 5000000000ul,
                            -9000000000000000000ll, 18000000000000000000ull, 1.1f, 2.2, Mode::plain);
    Large large = {};
    large.of[299] = 2.5f, large.n = 11;
    tell("LAUNCH", "by_value", 4, 128, 0, "n=%d", 500);
    by_value<<<4, 128>>>(a, Pair{3, 0.25}, large, 500);
    tell("LAUNCH", "scale<float, 4>", 8, 64, 0, "factor=%.9g n=2000", 0.5f);
    scale<float, 4><<<8, 64>>>(a, 0.5f, 2000);
    tell("LAUNCH", "scale<double, 2>", 2, 64, 0, "factor=%.17g n=100", 0.1);
    scale<double, 2><<<2, 64>>>((double *)a, 0.1, 100);
    OK(cudaGetLastError());
}

static void special(cudaStream_t stream)
{
    int n = 4096;
    void *values[] = {&a, &n};
    tell("LAUNCH", "two_phases", 16, 256, 0, "n=%d", n);
    OK(cudaLaunchCooperativeKernel((void *)two_phases, dim3(16), dim3(256), values, 0, stream));
    int major = 0;
    OK(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0));
    if (major >= 9) {
        cudaLaunchAttribute cluster = {};
        cluster.id = cudaLaunchAttributeClusterDimension;
        cluster.val.clusterDim.x = 2, cluster.val.clusterDim.y = cluster.val.clusterDim.z = 1;
        cudaLaunchConfig_t config = {dim3(16), dim3(256), 0, stream, &cluster, 1};
        tell("LAUNCH", "in_clusters", 16, 256, 0, "n=%d", n);
        OK(cudaLaunchKernelEx(&config, in_clusters, a, n));
    }
    void *entry = nullptr;
    cudaDriverEntryPointQueryResult found;
    OK(cudaGetDriverEntryPointByVersion("cuLaunchKernel", &entry, 12000, cudaEnableDefault, &found));
    cudaFunction_t function;
    OK(cudaGetFuncBySymbol(&function, (void *)saxpy));
    struct { int n; float a; const float *x; float *y; } packed = {777, 1.5f, a, b};
    size_t size = sizeof packed;
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END};
    tell("LAUNCH", "saxpy", 3, 96, 0, "n=%d a=1.5", 777);
    if (((decltype(&cuLaunchKernel))entry)((CUfunction)function, 3, 1, 1, 96, 1, 1, 0, (CUstream)stream, nullptr, extra))
        exit(4);
    saxpy<<<1, 2048>>>(1, 1, a, b);  // too many threads: it never runs
    if (cudaGetLastError() == cudaSuccess)
        exit(5);
}

static void graphs(cudaStream_t stream)
{
    cudaGraph_t graph, own;
    cudaGraphExec_t exec;
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    saxpy<<<5, 64, 0, stream>>>(111, 0.125f, a, b);
    scale<float, 4><<<6, 64, 0, stream>>>(a, 1.25f, 222);
    saxpy<<<5, 64, 0, stream>>>(333, 0.375f, a, b);
    OK(cudaStreamEndCapture(stream, &graph));
    OK(cudaGraphInstantiate(&exec, graph, 0));
    for (int time = 0; time < 3; time++) {
        tell("GRAPH", "saxpy", 5, 64, 0, "n=111 a=0.125");
        tell("GRAPH", "scale<float, 4>", 6, 64, 0, "factor=1.25 n=222");
        tell("GRAPH", "saxpy", 5, 64, 0, "n=333 a=0.375");
        OK(cudaGraphLaunch(exec, stream));
    }
    OK(cudaStreamSynchronize(stream));
    int n = 444;
    float by = 2;
    void *values[] = {&n, &by, &a, &b};
    cudaKernelNodeParams params = {};
    params.func = (void *)saxpy, params.gridDim = dim3(7), params.blockDim = dim3(32), params.kernelParams = values;
    cudaGraphNode_t node;
    OK(cudaGraphCreate(&own, 0));
    OK(cudaGraphAddKernelNode(&node, own, nullptr, 0, &params));
    cudaGraphExec_t second;
    OK(cudaGraphInstantiate(&second, own, 0));
    tell("GRAPH", "saxpy", 7, 32, 0, "n=444 a=2");
    OK(cudaGraphLaunch(second, stream));
    n = 555, by = 4, params.gridDim = dim3(9);
    OK(cudaGraphExecKernelNodeSetParams(second, node, &params));
    tell("GRAPH", "saxpy", 9, 32, 0, "n=555 a=4");
    OK(cudaGraphLaunch(second, stream));
    OK(cudaStreamSynchronize(stream));
}

static void both_threads()
{
    auto work = [](int first) {
        cudaStream_t own;
        OK(cudaStreamCreate(&own));
        for (int i = 0; i < 20; i++)
            launch_saxpy(first + i, 0.5f, own);
        OK(cudaStreamSynchronize(own));
    };
    std::thread one(work, 1000), two(work, 2000);
    one.join();
    two.join();
}

static void loop(int count)
{
    auto begun = std::chrono::steady_clock::now();
    for (int i = 0; i < count; i++)
        saxpy<<<1, 32>>>(32, 0.5f, a, b);
    OK(cudaDeviceSynchronize());
    double us = std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begun).count();
    printf("LOOP %d launches %.3f us each\n", count, us / count);
}

int main(int count, char **words)
{
    const char *way = count > 1 ? words[1] : "";
    OK(cudaMalloc(&a, N * sizeof(float)));
    OK(cudaMalloc(&b, N * sizeof(float)));
    OK(cudaMemset(a, 0, N * sizeof(float)));
    OK(cudaMemset(b, 0, N * sizeof(float)));
    if (!strcmp(way, "loop"))
        loop(atoi(words[2]));
    else if (!strcmp(way, "kill") || !strcmp(way, "forever")) {
        for (int i = 0; i < 50; i++)
            launch_saxpy(i + 1, 0.5f, nullptr);
        OK(cudaDeviceSynchronize());
        sleep(!strcmp(way, "kill") ? 1 : 3600);
        raise(SIGKILL);
    } else {
        cudaStream_t stream;
        OK(cudaStreamCreate(&stream));
        scalars();
        OK(cudaDeviceSynchronize());
        special(stream);
        OK(cudaDeviceSynchronize());
        graphs(stream);
        for (int i = 0; i < 12; i++)
            launch_transpose(64, i % 4 ? 96 : 8192);
        for (int i = 0; i < 24; i++)
            launch_saxpy(i % 6 ? 1000 : N, 2.0f, nullptr);
        OK(cudaDeviceSynchronize());
    }
    float *back = (float *)malloc(4096 * sizeof(float));
    OK(cudaMemcpy(back, b, 4096 * sizeof(float), cudaMemcpyDeviceToHost));
    double sum = 0;
    for (int i = 0; i < 4096; i++)
        sum += back[i];
    printf("SUM %.17g\n", sum);
    free(back);
    if (!*way)
        both_threads();  // these write over each other: after the sum
    return 0;
}
