/* Graphs, as far as a stream is captured into one: its work in the order in which it was submitted, as often as it is launched. */
#pragma once

inline cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
    if (cudaError_t error = kpd_standin::enter()) return error;
    kpd_standin::Process &p = kpd_standin::process();
    if (!stream || p.graph) return kpd_standin::failed(cudaErrorStreamCaptureUnsupported);
    p.graph = new CUgraph_st{nullptr, nullptr};
    p.captured = stream;
    p.fork_count = 0;
    return cudaSuccess;
}

inline cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus *status) {
    if (cudaError_t error = kpd_standin::enter()) return error;
    kpd_standin::Process &p = kpd_standin::process();
    *status = p.graph && stream == p.captured ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
    return cudaSuccess;
}

/* A capture that a wait for its stream has ended gives no graph. */
inline cudaError_t cudaStreamEndCapture(cudaStream_t, cudaGraph_t *graph) {
    if (cudaError_t error = kpd_standin::enter()) return error;
    kpd_standin::Process &p = kpd_standin::process();
    *graph = p.graph;
    p.graph = nullptr;
    p.captured = nullptr;
    if (!*graph) return kpd_standin::failed(cudaErrorStreamCaptureInvalidated);
    for (int i = 0; i < p.fork_count; i++)
        if (p.forks[i].submitted > p.forks[i].joined) return kpd_standin::failed(cudaErrorStreamCaptureUnjoined);
    return cudaSuccess;
}

inline cudaError_t cudaGraphInstantiate(cudaGraphExec_t *made, cudaGraph_t graph, unsigned long long) {
    if (cudaError_t error = kpd_standin::enter()) return error;
    *made = graph;
    return cudaSuccess;
}

inline cudaError_t cudaGraphLaunch(cudaGraphExec_t made, cudaStream_t stream) {
    if (cudaError_t error = kpd_standin::enter()) return error;
    kpd_standin::submit(kpd_standin::task([=] {
        for (kpd_standin::Work *work = made->first; work; work = work->next) work->run();
    }), stream);
    return cudaSuccess;
}

/* They are never freed: work that is queued may still need them. */
inline cudaError_t cudaGraphExecDestroy(cudaGraphExec_t) { return kpd_standin::enter(); }
inline cudaError_t cudaGraphDestroy(cudaGraph_t) { return kpd_standin::enter(); }

/* What is in one is not told: who asks finds no nodes. */
typedef struct CUgraphNode_st *cudaGraphNode_t;
enum cudaGraphNodeType {
    cudaGraphNodeTypeKernel,
    cudaGraphNodeTypeMemcpy,
    cudaGraphNodeTypeMemset,
    cudaGraphNodeTypeEmpty
};
enum cudaLaunchAttributeID { cudaKernelNodeAttributeCooperative, cudaKernelNodeAttributeClusterDimension };
struct cudaKernelNodeAttrValue {
    int cooperative;
    uint3 clusterDim;
};
inline cudaError_t cudaGraphGetNodes(cudaGraph_t, cudaGraphNode_t *, size_t *count) {
    *count = 0;
    return kpd_standin::enter();
}
inline cudaError_t cudaGraphNodeGetType(cudaGraphNode_t, cudaGraphNodeType *) { return cudaErrorInvalidValue; }
inline cudaError_t cudaGraphKernelNodeGetAttribute(cudaGraphNode_t, cudaLaunchAttributeID, cudaKernelNodeAttrValue *) {
    return cudaErrorInvalidValue;
}
