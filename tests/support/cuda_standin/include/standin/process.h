/* What all objects in a process share: the device's work in order, and its sticky error.
 *
 * The device is lazy: what is launched waits in a queue and runs when the host waits for it. So a host that reads too
 * early reads old values, and a kernel that waits for the host's flag does not hang the host. What the host does not wait
 * for does not run: work on a non-blocking stream is not done because the default stream is. */
#pragma once

namespace kpd_standin {

/* One thing the device is to do. Virtual, since it runs the code of the object that queued it. */
struct Work {
    Work *next = nullptr;
    cudaStream_t stream = nullptr, lane = nullptr;
    const void *event = nullptr; /* set where the work is the recording of an event */
    virtual void run() = 0;
    virtual ~Work() {}
};

/* A stream that has waited for what is captured, and so is captured, too. */
struct Fork {
    cudaStream_t stream;
    int submitted, joined; /* work: all of it, and what another captured stream has waited for */
};

struct Process {
    Work *first, *last;
    cudaError_t sticky;
    cudaError_t last_error; /* with the shared runtime */
    pid_t owner;            /* the process that used CUDA first: its forks cannot */
    CUgraph_st *graph;      /* that a stream is captured into, … */
    cudaStream_t captured;  /* … which is this one, … */
    Fork forks[8];          /* … and these, … */
    int fork_count;         /* … so many */
    size_t taken;           /* bytes that are allocated */
};

} /* namespace kpd_standin */

/* The program exports this one, and the objects that it loads find it there; without such a program each has its own. */
#pragma GCC visibility push(default)
extern "C" {
__attribute__((weak)) kpd_standin::Process kpd_standin_process = {};
}
#pragma GCC visibility pop

namespace kpd_standin {

inline Process &process() {
    static Process *const found = [] {
        void *exported = dlsym(dlopen(nullptr, RTLD_LAZY), "kpd_standin_process");
        return exported ? (Process *)exported : &kpd_standin_process;
    }();
    return *found;
}

inline cudaError_t own_last_error = cudaSuccess; /* with the static runtime */

inline cudaError_t &last_error() {
#ifdef KPD_STANDIN_SHARED_RUNTIME
    return process().last_error;
#else
    return own_last_error;
#endif
}

inline cudaError_t failed(cudaError_t error) {
    last_error() = error;
    return error;
}

/* What every call begins with. */
inline cudaError_t enter() {
    Process &p = process();
    if (!p.owner) p.owner = getpid();
    if (p.owner != getpid()) return failed(cudaErrorInitializationError);
    return p.sticky ? failed(p.sticky) : cudaSuccess;
}

inline uint64_t now_ns() {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Work of one lane is done in order: a non-blocking stream is one, all the others together are one. */
inline cudaStream_t lane_of(cudaStream_t stream) {
    bool special = !stream || stream == cudaStreamLegacy || stream == cudaStreamPerThread;
    return special || !(stream->flags & cudaStreamNonBlocking) ? nullptr : stream;
}

inline Fork *fork_of(cudaStream_t stream) {
    Process &p = process();
    for (int i = 0; p.graph && i < p.fork_count; i++)
        if (p.forks[i].stream == stream) return &p.forks[i];
    return nullptr;
}

/* Where a stream waits for an event of a capture, it becomes a part of that, and what the event's stream had submitted is joined.
 * That is all: the work of a graph is done in the order in which it was submitted. */
inline bool joins(cudaStream_t stream, const CUevent_st *event) {
    Process &p = process();
    if (!p.graph || event->graph != p.graph) return false;
    if (Fork *fork = fork_of(event->of); fork && event->submitted > fork->joined) fork->joined = event->submitted;
    if (stream != p.captured && !fork_of(stream) && p.fork_count < 8) p.forks[p.fork_count++] = {stream, 0, 0};
    return true;
}

inline void submit(Work *work, cudaStream_t stream) {
    Process &p = process();
    Fork *fork = fork_of(stream);
    if (fork && !work->event) fork->submitted++;
    work->stream = stream;
    work->lane = lane_of(stream);
    Work *&first = fork || (stream && stream == p.captured && p.graph) ? p.graph->first : p.first;
    Work *&last = &first == &p.first ? p.last : p.graph->last;
    (first ? last->next : first) = work;
    last = work;
}

template <class Wanted> Work *find(Wanted wanted) {
    Work *work = process().first;
    while (work && !wanted(work)) work = work->next;
    return work;
}

/* Take it off the queue and do it; after a sticky error it is only thrown away. */
inline void execute(Work *work) {
    Process &p = process();
    Work *before = nullptr;
    for (Work *w = p.first; w != work; w = w->next) before = w;
    (before ? before->next : p.first) = work->next;
    if (p.last == work) p.last = before;
    if (!p.sticky) work->run();
    delete work;
}

/* Do what comes first in the lane of `work`. */
inline void advance(const Work *work) {
    execute(find([=](const Work *w) { return w->lane == work->lane; }));
}

template <class Wanted> void run_while(Wanted wanted) {
    while (Work *work = find(wanted)) advance(work);
}

inline cudaError_t outcome_so_far() { return process().sticky ? failed(process().sticky) : cudaSuccess; }

/* Wait for the whole device. */
inline cudaError_t drain() {
    while (process().first) execute(process().first);
    return outcome_so_far();
}

/* Wait for what is in the stream's lane. */
inline cudaError_t drain_lane(cudaStream_t stream) {
    run_while([lane = lane_of(stream)](const Work *work) { return work->lane == lane; });
    return outcome_so_far();
}

template <class Body> struct Task : Work {
    Body body;
    explicit Task(Body b) : body(b) {}
    void run() override { body(); }
};

template <class Body> Work *task(Body body) { return new Task<Body>(body); }

} /* namespace kpd_standin */

inline cudaError_t cudaGetLastError() {
    kpd_standin::enter();
    cudaError_t error = kpd_standin::last_error();
    kpd_standin::last_error() = cudaSuccess;
    return error;
}

inline cudaError_t cudaPeekAtLastError() {
    kpd_standin::enter();
    return kpd_standin::last_error();
}
