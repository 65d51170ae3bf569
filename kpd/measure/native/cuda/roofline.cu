/* What this GPU can do at best: memory bandwidth by footprint, and fused multiply-adds in single precision.
 *
 * Bandwidth is that of a copy (one read, one write an element, both counted), of which one launch goes over its arrays again
 * and again, so that a launch's cost does not count; loads pass the first-level caches by, which no data outlive a launch in.
 * The footprint is that of both arrays: a small one is served by the L2 cache.
 *
 * Prints {"bandwidth": [[footprint in bytes, GB/s], …], "peak_gflops": n} within about a second.
 */
#include <stdio.h>

#define SMALLEST ((size_t)1 << 20)
#define LARGEST ((size_t)1 << 30)
#define LAUNCH_S 1e-3           /* what a launch should take; the best of many counts, as other work can only slow it down */
#define POINT_S 3e-2            /* to spend on each footprint */
#define THREADS 256
#define CHAINS 8                /* independent accumulators of a thread: enough to hide the latency */

static __global__ void __launch_bounds__(THREADS) copy(const float4 *from, float4 *to, size_t count, int rounds) {
    size_t stride = (size_t)gridDim.x * THREADS, start = (size_t)blockIdx.x * THREADS + threadIdx.x;
    for (int round = 0; round < rounds; round++)
#pragma unroll 4
        for (size_t i = start; i < count; i += stride) __stcg(&to[i], __ldcg(&from[i]));
}

static __global__ void __launch_bounds__(THREADS) multiply_add(float *out, float factor, float term, int rounds) {
    float sum[CHAINS];
#pragma unroll
    for (int k = 0; k < CHAINS; k++) sum[k] = (float)(k + (int)threadIdx.x);
    for (int i = 0; i < rounds; i++) {
#pragma unroll
        for (int k = 0; k < CHAINS; k++) sum[k] = fmaf(sum[k], factor, term);
    }
    float all = 0.0f;
#pragma unroll
    for (int k = 0; k < CHAINS; k++) all += sum[k];
    if (all == -1.0f) *out = all; /* never: but without it nobody would need the sums */
}

static void must(cudaError_t error, const char *what) {
    if (error == cudaSuccess) return;
    fprintf(stderr, "%s: %s: %s\n", what, cudaGetErrorName(error), cudaGetErrorString(error));
    exit(2);
}

static cudaEvent_t from, to;

/* Runs a kernel for so many rounds. */
typedef void (*runner)(char *arena, size_t bytes, int processors, int rounds);

/* Rounds a second, at best. */
static double speed(runner run, char *arena, size_t bytes, int processors) {
    double best = 0.0, spent = 0.0;
    for (int rounds = 1; spent < POINT_S;) {
        float ms = 0.0f;
        must(cudaEventRecord(from, 0), "cannot record an event");
        run(arena, bytes, processors, rounds);
        must(cudaGetLastError(), "cannot launch a kernel");
        must(cudaEventRecord(to, 0), "cannot record an event");
        must(cudaEventSynchronize(to), "a kernel failed");
        must(cudaEventElapsedTime(&ms, from, to), "cannot read the clock");
        double seconds = (double)ms * 1e-3;
        if (rounds / seconds > best) best = rounds / seconds;
        if (seconds < LAUNCH_S / 2 && rounds < 1 << 24) rounds *= 2;
        spent += seconds;
    }
    return best;
}

static void run_copy(char *arena, size_t bytes, int processors, int rounds) {
    size_t count = bytes / 2 / sizeof(float4), wanted = (count + THREADS - 1) / THREADS, resident = (size_t)processors * 8;
    unsigned blocks = (unsigned)(wanted < resident ? wanted : resident);
    copy<<<blocks, THREADS>>>((const float4 *)(void *)arena, (float4 *)(void *)(arena + bytes / 2), count, rounds);
}

static void run_multiply_add(char *arena, size_t bytes, int processors, int rounds) {
    (void)bytes;
    multiply_add<<<(unsigned)processors * 8, THREADS>>>((float *)(void *)arena, 0.999f, 0.001f, rounds);
}

int main(void) {
    char *arena = NULL;
    int processors = 0;
    size_t available, total, largest = LARGEST;
    must(cudaMemGetInfo(&available, &total), "no CUDA device");
    while (largest > available / 2 && largest > SMALLEST) largest /= 4;
    must(cudaMalloc((void **)&arena, largest), "cannot allocate device memory");
    must(cudaMemset(arena, 0, largest), "cannot clear device memory");
    must(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, 0), "cannot ask for the number of processors");
    must(cudaEventCreate(&from), "cannot create an event");
    must(cudaEventCreate(&to), "cannot create an event");
    printf("{\"bandwidth\":[");
    for (size_t bytes = SMALLEST; bytes <= largest; bytes *= 4)
        printf("%s[%zu,%.3f]", bytes == SMALLEST ? "" : ",", bytes, speed(run_copy, arena, bytes, processors) * (double)bytes / 1e9);
    double flops = 2.0 * CHAINS * THREADS * 8 * processors; /* of a round */
    printf("],\"peak_gflops\":%.3f}\n", speed(run_multiply_add, arena, 0, processors) * flops / 1e9);
    return 0;
}
