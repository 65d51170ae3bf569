/* A call while other work has all multiprocessors but a few: blocks then run one after another, as on a smaller device, or beside
 * other programs. A kernel whose blocks wait for blocks that have not begun yet never ends there. What must have all its blocks on
 * the device at once says so (cooperative launches, clusters), and is not called like this.
 */
#include "device.h"

#include <stdio.h>

#define FREE 8             /* multiprocessors that are left to the kernel */
#define THREADS 1024       /* of a block that fills one: … */
#define REGISTERS 64       /* … these have all its registers, … */
#define KEPT 52            /* … as each thread has so many numbers under way */
#define LOOK_NS 2000u      /* one thread of a block looks so often whether it may end: through the bus, which others need, too */
#define BEGIN_NS 200000u   /* until the other work is there */
#define LEAST_NS 50000000u
#define SLOWER 400         /* times the time of a call that has the device to itself, beyond LEAST_NS */
#define SOON_NS 20000000u  /* who has only waited for room is done so long after there is some, and twice a call's time */
#define MORE_NS 50000000u  /* the other work ends by itself so long after that */
#define TRIES 2            /* each has to show the same */
#define MOST_NODES 64      /* of a graph: more are not looked through */

static cudaStream_t own, crowd;
static gate_t gate;
static int processors;

static __global__ void __launch_bounds__(THREADS, 1) fill_processors(volatile int *opened, uint64_t limit_ns) {
    uint32_t kept[KEPT], sum = 0;
    uint64_t start, now;
    int ends = 0;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start));
#pragma unroll
    for (int i = 0; i < KEPT; i++) kept[i] = threadIdx.x + i;
    while (!ends) {
#pragma unroll
        for (int i = 0; i < KEPT; i++) kept[i] = kept[i] * 3 + kept[(i + 1) % KEPT];
        if (!threadIdx.x) {
            __nanosleep(LOOK_NS);
            asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
            if (now - start > limit_ns) opened[1] = 1;
            ends = opened[0] || now - start > limit_ns;
        }
        ends = __syncthreads_or(ends);
    }
#pragma unroll
    for (int i = 0; i < KEPT; i++) sum += kept[i];
    if (sum == 1) opened[1] = 1; /* so that all are needed */
}

/* 0 where the device cannot be filled like this. */
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

static void wait_on_host(uint64_t ns) {
    for (uint64_t start = now_ns(); now_ns() - start < ns;) continue;
}

/* Nanoseconds until the call is done, or more than this. */
static uint64_t waited(uint64_t most_ns) {
    uint64_t start = now_ns(), passed = 0;
    while (passed <= most_ns && cudaStreamQuery(own) == cudaErrorNotReady) passed = now_ns() - start;
    return passed;
}

/* Whether a call beside the other work is not done in that time, and soon after there is room again. */
static int waits_for_room(cudaGraphExec_t call, uint64_t most_ns, uint64_t soon_ns, outcome *answer) {
    gate.host[0] = gate.host[1] = 0;
    fill_processors<<<(unsigned)(processors - FREE), THREADS, 0, crowd>>>(gate.device, most_ns + MORE_NS);
    wait_on_host(BEGIN_NS);
    if (!fine(cudaGraphLaunch(call, own), answer)) return 0;
    int late = waited(most_ns) > most_ns, held = !gate.host[1];
    gate_opened(&gate);
    return late && held && waited(soon_ns) <= soon_ns;
}

static int inputs_there(const view *v, outcome *answer) {
    return fine(cudaMemcpyAsync(sets.memory, v->base, v->bytes, cudaMemcpyHostToDevice, own), answer) &&
           fine(cudaStreamSynchronize(own), answer);
}

/* On what the host's memory holds, where the results are then. */
void engine_squeezed(view *v, slot which, outcome *answer) {
    if (!sets_hold(v, 1, answer)) return;
    cudaGraphExec_t call = made(answer) ? captured(v, which) : NULL;
    if (!call) {
        if (answer->how == DONE) engine_call(v, which, 0, 1, answer);
        return;
    }
    int tries = 0;
    if (inputs_there(v, answer) && fine(cudaGraphLaunch(call, own), answer)) {
        uint64_t alone = waited(UINT64_MAX / 2);
        while (tries < TRIES && inputs_there(v, answer) && waits_for_room(call, LEAST_NS + SLOWER * alone, SOON_NS + 2 * alone, answer)) tries++;
    }
    fine(cudaDeviceSynchronize(), answer);
    cudaGraphExecDestroy(call);
    if (answer->how != DONE) return;
    if (tries < TRIES) fine(cudaMemcpy(v->base, sets.memory, v->bytes, cudaMemcpyDeviceToHost), answer);
    else {
        answer->how = FAILED;
        snprintf(answer->message, sizeof answer->message,
            "waits for blocks of its own that do not run while other work has most of the device: a cooperative launch would say so");
    }
}
