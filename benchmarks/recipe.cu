/* What is profiled by hand: one file with the kernel of tasks/transpose_cuda and a main() that times it. Five shapes, three
 * calls to warm up and three that are measured, by CUDA events; the median of each shape is printed as
 * `KK_TIMING name=… median_us=…`. With any argument each shape is called once, for a profiler. benchmarks/gpu_run.py builds,
 * runs and profiles it, to have something to compare with. */
#include <cstdio>
#include <cstdlib>

#include "kernel.cu"

struct Config {
    const char *name;
    long rows, cols;
};

constexpr Config kConfigs[] = {
    {"square_4096", 4096, 4096}, {"square_1024", 1024, 1024}, {"tall", 16384, 1024}, {"wide", 512, 32768}, {"odd", 4097, 3001},
};

static void must(cudaError_t error) {
    if (error == cudaSuccess) return;
    std::fprintf(stderr, "%s\n", cudaGetErrorString(error));
    std::exit(1);
}

int main(int argc, char **) {
    for (const Config &c : kConfigs) {
        size_t bytes = (size_t)(c.rows * c.cols) * sizeof(float);
        float *in, *out, ms[3];
        must(cudaMalloc(&in, bytes));
        must(cudaMalloc(&out, bytes));
        must(cudaMemset(in, 1, bytes));
        cudaEvent_t begin, end;
        must(cudaEventCreate(&begin));
        must(cudaEventCreate(&end));
        for (int i = 0; i < (argc > 1 ? 1 : 3); i++) transpose(in, out, c.rows, c.cols, 0);
        must(cudaDeviceSynchronize());
        if (argc > 1) continue;
        for (float &one : ms) {
            must(cudaEventRecord(begin));
            transpose(in, out, c.rows, c.cols, 0);
            must(cudaEventRecord(end));
            must(cudaEventSynchronize(end));
            must(cudaEventElapsedTime(&one, begin, end));
        }
        float low = ms[0] < ms[1] ? ms[0] : ms[1], high = ms[0] < ms[1] ? ms[1] : ms[0];
        std::printf("KK_TIMING name=%s median_us=%.3f\n", c.name, 1000 * (ms[2] < low ? low : ms[2] > high ? high : ms[2]));
        must(cudaFree(in));
        must(cudaFree(out));
    }
    return 0;
}
