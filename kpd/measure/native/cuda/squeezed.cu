/* A call while other work has all multiprocessors but one: blocks then run one after another, as on a smaller device, or beside
 * other programs. A kernel whose blocks wait for blocks that have not begun yet never ends there. What must have all its blocks on
 * the device at once says so (cooperative launches, clusters), and is not called like this.
 *
 * Whoever is late for another reason must not be refused: before each such call the device does work of kpd's own beside the filler,
 * the call is captured anew, its first one, alone, has its code loaded, and what counts is twice being late and done soon after.
 */
#include "device.h"

#include <dlfcn.h>
#include <stdio.h>

#define FREE 1             /* multiprocessors that are left to the kernel */
#define THREADS 1024       /* of a block that fills one: … */
#define REGISTERS 64       /* … these have all its registers, … */
#define KEPT 52            /* … as each thread has so many numbers under way */
#define LOOK_NS 2000u      /* one thread of a block looks so often whether it may end: through the bus, which others need, too */
#define BEGIN_NS 200000u   /* until the other work is there */
#define OWN_BLOCKS 32      /* of kpd's own work there, of … */
#define OWN_THREADS 256
#define OWN_NS 10000000u   /* … which is to be done so soon */
#define LEAST_NS 50000000u
#define SLOWER 400         /* times the time of a call that has the device to itself, beyond LEAST_NS; … */
#define LONGEST_NS 10000000u /* … one that takes longer than this then is not called like this */
#define SOON_NS 20000000u  /* who has only waited for room is done so long after there is some, and twice a call's time */
#define MORE_NS 50000000u  /* the other work ends by itself so long after that */
#define TRIES 2            /* each has to show the same */
#define MOST_NODES 64      /* of a graph: more are not looked through */

static cudaStream_t own, crowd;
static gate_t gate;
static int processors;
static int *ours; /* memory for kpd's own work */

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

static __global__ void work_a_little(int *memory) { memory[blockIdx.x * OWN_THREADS + threadIdx.x]++; }

/* 0 where the device cannot be filled like this. */
static int made(outcome *answer) {
    cudaFuncAttributes about;
    if (own) return processors > FREE;
    if (!fine(cudaFuncGetAttributes(&about, fill_processors), answer)) return 0;
    if (!fine(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, 0), answer)) return 0;
    if (about.numRegs <= REGISTERS - 8) processors = 0; /* registers are given by eight */
    if (!fine(cudaMalloc((void **)&ours, OWN_BLOCKS * OWN_THREADS * sizeof *ours), answer)) return 0;
    if (!fine(cudaStreamCreateWithFlags(&crowd, cudaStreamNonBlocking), answer) || !gate_made(&gate, answer)) return 0;
    if (!fine(cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking), answer)) return 0;
    work_a_little<<<OWN_BLOCKS, OWN_THREADS, 0, own>>>(ours); /* its code is loaded */
    return fine(cudaStreamSynchronize(own), answer) && processors > FREE;
}

/* What the device's driver says of a kernel that needs its blocks in clusters, whoever launches it: 0 only where it surely does not. */
static int needs_clusters(cudaGraphNode_t node) {
    enum { WIDTH = 11, HEIGHT = 12, DEPTH = 13 }; /* CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_… */
    struct {
        void *function;
        unsigned sizes[7];
        void *parameters, *extra, *kernel, *context;
    } about = {}; /* CUDA_KERNEL_NODE_PARAMS_v2 */
    static int (*parameters_of)(cudaGraphNode_t, void *), (*attribute_of)(int *, int, void *);
    void *driver = parameters_of ? NULL : dlopen("libcuda.so.1", RTLD_LAZY);
    if (driver) {
        parameters_of = (int (*)(cudaGraphNode_t, void *))dlsym(driver, "cuGraphKernelNodeGetParams_v2");
        attribute_of = (int (*)(int *, int, void *))dlsym(driver, "cuFuncGetAttribute");
    }
    if (!parameters_of || !attribute_of || parameters_of(node, &about) || !about.function) return 1;
    for (int which = WIDTH; which <= DEPTH; which++) {
        int size = 0;
        if (attribute_of(&size, which, about.function) || size > 1) return 1;
    }
    return 0;
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
        if (cudaGraphNodeGetType(nodes[i], &type) != cudaSuccess) return 0;
        if (type == cudaGraphNodeTypeMemcpy || type == cudaGraphNodeTypeMemset || type == cudaGraphNodeTypeEmpty) continue;
        if (type != cudaGraphNodeTypeKernel || needs_clusters(nodes[i])) return 0;
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

/* Whether kpd's own work is done soon beside the other: two kernels, one after the other, on the same stream. */
static int takes_work(void) {
    for (int i = 0; i < 2; i++) work_a_little<<<OWN_BLOCKS, OWN_THREADS, 0, own>>>(ours);
    return waited(OWN_NS) <= OWN_NS;
}

typedef enum { UNTOLD, RETURNED, WAITS } fate;

/* WAITS: beside the other work a call is not done in that time, and soon after there is room it is. UNTOLD: it has not begun. */
static fate beside(cudaGraphExec_t call, uint64_t alone_ns) {
    uint64_t most_ns = LEAST_NS + SLOWER * alone_ns, soon_ns = SOON_NS + 2 * alone_ns;
    gate.host[0] = gate.host[1] = 0;
    fill_processors<<<(unsigned)(processors - FREE), THREADS, 0, crowd>>>(gate.device, OWN_NS + most_ns + MORE_NS);
    wait_on_host(BEGIN_NS);
    int begun = takes_work() && cudaGraphLaunch(call, own) == cudaSuccess;
    int late = begun && waited(most_ns) > most_ns && cudaStreamQuery(own) == cudaErrorNotReady && !gate.host[1];
    gate_opened(&gate);
    return !begun ? UNTOLD : late && waited(soon_ns) <= soon_ns ? WAITS : RETURNED;
}

/* UNTOLD: it has not begun, or is too long for a call beside other work. */
static fate alone(cudaGraphExec_t call, uint64_t *took_ns) {
    if (cudaGraphLaunch(call, own) != cudaSuccess) return UNTOLD;
    *took_ns = waited(UINT64_MAX / 2);
    return *took_ns <= LONGEST_NS ? RETURNED : UNTOLD;
}

static int inputs_there(const view *v, outcome *answer) {
    return fine(cudaMemcpyAsync(sets.memory, v->base, v->bytes, cudaMemcpyHostToDevice, own), answer) &&
           fine(cudaStreamSynchronize(own), answer);
}

/* A call that is captured for this, with or without other work beside it. */
static fate called(const view *v, slot which, int squeezed, uint64_t *alone_ns, outcome *answer) {
    cudaGraphExec_t call = captured(v, which);
    fate found = UNTOLD;
    if (call && inputs_there(v, answer)) found = squeezed ? beside(call, *alone_ns) : alone(call, alone_ns);
    fine(cudaDeviceSynchronize(), answer);
    if (call) cudaGraphExecDestroy(call);
    cudaGetLastError();
    return found;
}

/* On what the host's memory holds, where the results are then. */
void engine_squeezed(view *v, slot which, outcome *answer) {
    if (!sets_hold(v, 1, answer)) return;
    uint64_t alone_ns = 0;
    int tries = 0;
    fate found = made(answer) ? called(v, which, 0, &alone_ns, answer) : UNTOLD;
    if (found != UNTOLD)
        while (tries < TRIES && answer->how == DONE && (found = called(v, which, 1, &alone_ns, answer)) == WAITS) tries++;
    if (answer->how != DONE) return;
    if (tries == TRIES) {
        answer->how = FAILED;
        snprintf(answer->message, sizeof answer->message,
            "waits for blocks of its own that do not run while other work has most of the device: a cooperative launch would say so");
    } else if (found == RETURNED) fine(cudaMemcpy(v->base, sets.memory, v->bytes, cudaMemcpyDeviceToHost), answer);
    else engine_call(v, which, 0, 1, answer);
}
