/* A call while other work has all multiprocessors but a few: blocks then run one after another, as on a smaller device, or beside
 * other programs. A kernel whose blocks wait for blocks that have not begun yet never ends there. What must have all its blocks on
 * the device at once says so (cooperative launches, clusters), and is not called like this.
 */
#include "device.h"

#include <stdio.h>

#define FREE 8            /* multiprocessors that are left to the kernel */
#define THREADS 1024      /* of a block that fills one: … */
#define REGISTERS 64      /* … these have all its registers, … */
#define KEPT 52           /* … as each thread has so many numbers under way */
#define BEGIN_NS 200000u  /* until the other work is there */
#define LEAST_NS 20000000u
#define SLOWER 200        /* times the time of a call that has the device to itself, beyond LEAST_NS */
#define MORE_NS 50000000u /* the other work ends by itself so long after that */
#define MOST_NODES 64     /* of a graph: more are not looked through */

static cudaStream_t own, crowd;
static gate_t gate;
static int processors;

static __global__ void __launch_bounds__(THREADS, 1) fill_processors(volatile int *opened, uint64_t limit_ns) {
    uint32_t kept[KEPT], sum = 0;
    uint64_t start, now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start));
#pragma unroll
    for (int i = 0; i < KEPT; i++) kept[i] = threadIdx.x + i;
    do {
#pragma unroll
        for (int i = 0; i < KEPT; i++) kept[i] = kept[i] * 3 + kept[(i + 1) % KEPT];
        asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
        if (now - start > limit_ns) opened[1] = 1;
    } while (!opened[0] && now - start <= limit_ns);
#pragma unroll
    for (int i = 0; i < KEPT; i++) sum += kept[i];
    if (sum == 1) opened[1] = 1; /* so that all are needed */
}

static int made(outcome *answer) {
    cudaFuncAttributes about;
    if (own) return processors > FREE;
    if (!fine(cudaFuncGetAttributes(&about, fill_processors), answer)) return 0;
    if (!fine(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, 0), answer)) return 0;
    if (about.numRegs <= REGISTERS - 8) processors = 0; /* registers are given by eight */
    return fine(cudaStreamCreateWithFlags(&crowd, cudaStreamNonBlocking), answer) && gate_made(&gate, answer) &&
           fine(cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking), answer) && processors > FREE;
}

/* Whether nothing of a call must be on the device at once. */
static int may_be_squeezed(cudaGraph_t graph) {
    cudaGraphNode_t nodes[MOST_NODES];
    size_t count = 0;
    if (cudaGraphGetNodes(graph, NULL, &count) != cudaSuccess || count > MOST_NODES) return 0;
    if (cudaGraphGetNodes(graph, nodes, &count) != cudaSuccess) return 0;
    for (size_t i = 0; i < count; i++) {
        cudaGraphNodeType type;
        cudaKernelNodeAttrValue value = {};
        if (cudaGraphNodeGetType(nodes[i], &type) != cudaSuccess || type == cudaGraphNodeTypeGraph) return 0;
        if (type != cudaGraphNodeTypeKernel) continue;
        if (cudaGraphKernelNodeGetAttribute(nodes[i], cudaKernelNodeAttributeCooperative, &value) != cudaSuccess || value.cooperative) return 0;
        if (cudaGraphKernelNodeGetAttribute(nodes[i], cudaKernelNodeAttributeClusterDimension, &value) != cudaSuccess) return 0;
        if (value.clusterDim.x * value.clusterDim.y * value.clusterDim.z > 1) return 0;
    }
    return 1;
}

/* A call as a graph that can be launched; NULL where the launcher cannot be captured, or its kernels must be there at once. */
static cudaGraphExec_t captured(const view *v, slot which) {
    cudaGraph_t graph = NULL;
    cudaGraphExec_t call = NULL;
    outcome said = {DONE};
    if (cudaStreamBeginCapture(own, cudaStreamCaptureModeRelaxed) == cudaSuccess) {
        launch(v, which, 0, own);
        if (cudaStreamEndCapture(own, &graph) == cudaSuccess && may_be_squeezed(graph)) cudaGraphInstantiate(&call, graph, 0);
    }
    if (graph) cudaGraphDestroy(graph);
    launched(which, &said);
    cudaGetLastError();
    return call;
}

/* Nanoseconds until the call is done, or more than this. */
static uint64_t waited(uint64_t most_ns) {
    uint64_t start = now_ns(), passed = 0;
    while (passed <= most_ns && cudaStreamQuery(own) == cudaErrorNotReady) passed = now_ns() - start;
    return passed;
}

/* On what the host's memory holds, where the results are then. */
void engine_squeezed(view *v, slot which, outcome *answer) {
    if (!sets_hold(v, 1, answer)) return;
    cudaGraphExec_t call = made(answer) ? captured(v, which) : NULL;
    if (!call) {
        if (answer->how == DONE) engine_call(v, which, 0, 1, answer);
        return;
    }
    uint64_t most_ns = LEAST_NS;
    for (int squeezed = 0; squeezed < 2 && answer->how == DONE; squeezed++) {
        if (!fine(cudaMemcpyAsync(sets.memory, v->base, v->bytes, cudaMemcpyHostToDevice, own), answer)) break;
        if (!fine(cudaStreamSynchronize(own), answer)) break;
        if (squeezed) {
            gate.host[0] = gate.host[1] = 0;
            fill_processors<<<(unsigned)(processors - FREE), THREADS, 0, crowd>>>(gate.device, most_ns + MORE_NS);
            for (uint64_t start = now_ns(); now_ns() - start < BEGIN_NS;) continue;
        }
        uint64_t limit_ns = squeezed ? most_ns : UINT64_MAX / 2;
        if (!fine(cudaGraphLaunch(call, own), answer)) break;
        uint64_t passed = waited(limit_ns);
        if (!squeezed) most_ns += SLOWER * passed;
        gate_opened(&gate);
        if (passed <= limit_ns) continue;
        answer->how = FAILED;
        snprintf(answer->message, sizeof answer->message,
            "waits for blocks of its own that do not run while other work has most of the device: a cooperative launch would say so");
    }
    fine(cudaDeviceSynchronize(), answer);
    cudaGraphExecDestroy(call);
    if (answer->how == DONE) fine(cudaMemcpy(v->base, sets.memory, v->bytes, cudaMemcpyDeviceToHost), answer);
}
