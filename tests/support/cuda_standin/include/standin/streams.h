/* Streams and events. Events take the CPU's clock when their turn in the queue comes: times of the stand-in, never a GPU's. */
#pragma once

namespace kpd_standin {

/* What is queued of a stream, or the recording of an event. */
struct Awaited {
    cudaStream_t stream;
    cudaEvent_t event;
    bool operator()(const Work *work) const { return event ? work->event == event : work->stream == stream; }
};

inline cudaError_t wait_for(Awaited awaited) {
    if (cudaError_t error = enter()) return error;
    if (Process &p = process(); p.graph && awaited.stream == p.captured) {
        p.graph = nullptr;
        return failed(cudaErrorStreamCaptureUnsupported);
    }
    run_while(awaited);
    return outcome_so_far();
}

/* One step for each question, so that a host that polls gets there. */
inline cudaError_t query(Awaited awaited) {
    if (cudaError_t error = enter()) return error;
    if (Work *work = find(awaited)) advance(work);
    if (cudaError_t error = outcome_so_far()) return error;
    return find(awaited) ? cudaErrorNotReady : cudaSuccess;
}

} /* namespace kpd_standin */

inline cudaError_t cudaDeviceSynchronize() {
    cudaError_t error = kpd_standin::enter();
    return error ? error : kpd_standin::drain();
}

inline cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags) {
    if (cudaError_t error = kpd_standin::enter()) return error;
    *stream = new CUstream_st{flags};
    return cudaSuccess;
}
inline cudaError_t cudaStreamCreate(cudaStream_t *stream) { return cudaStreamCreateWithFlags(stream, 0); }
inline cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned flags, int) {
    return cudaStreamCreateWithFlags(stream, flags);
}
/* Streams and events are never freed: work that is queued may still name them. */
inline cudaError_t cudaStreamDestroy(cudaStream_t) { return kpd_standin::enter(); }
inline cudaError_t cudaStreamSynchronize(cudaStream_t s) { return kpd_standin::wait_for({s, nullptr}); }
inline cudaError_t cudaStreamQuery(cudaStream_t stream) { return kpd_standin::query({stream, nullptr}); }
inline cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned = 0) {
    if (cudaError_t error = kpd_standin::enter()) return error;
    if (kpd_standin::joins(stream, event)) return cudaSuccess;
    kpd_standin::submit(kpd_standin::task([=] { kpd_standin::run_while(kpd_standin::Awaited{nullptr, event}); }), stream);
    return cudaSuccess;
}

inline cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned) {
    if (cudaError_t error = kpd_standin::enter()) return error;
    *event = new CUevent_st{};
    return cudaSuccess;
}
inline cudaError_t cudaEventCreate(cudaEvent_t *event, unsigned flags = 0) { return cudaEventCreateWithFlags(event, flags); }
inline cudaError_t cudaEventDestroy(cudaEvent_t) { return kpd_standin::enter(); }
inline cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream = nullptr) {
    if (cudaError_t error = kpd_standin::enter()) return error;
    kpd_standin::Work *work = kpd_standin::task([=] { event->ns = kpd_standin::now_ns(); });
    work->event = event;
    kpd_standin::submit(work, stream);
    kpd_standin::Process &p = kpd_standin::process();
    const kpd_standin::Fork *fork = kpd_standin::fork_of(stream);
    event->graph = fork || (p.graph && stream == p.captured) ? p.graph : nullptr;
    event->of = stream;
    event->submitted = fork ? fork->submitted : 0;
    return cudaSuccess;
}
inline cudaError_t cudaEventSynchronize(cudaEvent_t e) { return kpd_standin::wait_for({nullptr, e}); }
inline cudaError_t cudaEventQuery(cudaEvent_t event) { return kpd_standin::query({nullptr, event}); }
inline cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t from, cudaEvent_t to) {
    if (cudaError_t error = kpd_standin::enter()) return error;
    using kpd_standin::find, kpd_standin::Awaited;
    if (find(Awaited{nullptr, from}) || find(Awaited{nullptr, to})) return kpd_standin::failed(cudaErrorNotReady);
    if (!from->ns || !to->ns) return kpd_standin::failed(cudaErrorInvalidResourceHandle);
    *ms = (float)((double)(int64_t)(to->ns - from->ns) * 1e-6);
    return cudaSuccess;
}

inline cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void *data) {
    if (cudaError_t error = kpd_standin::enter()) return error;
    kpd_standin::submit(kpd_standin::task([=] { function(data); }), stream);
    return cudaSuccess;
}
