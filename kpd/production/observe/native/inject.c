/* Records the kernel launches of an unmodified program: CUDA's driver loads this library into every process that starts
   CUDA with CUDA_INJECTION64_PATH, and calls InitializeInjection. See record.h for what it writes. */
#define _GNU_SOURCE
#include "record.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { BUFFER = 1 << 20, FLUSH_US = 200 * 1000 };
#if CUPTI_API_VERSION >= 130000
typedef CUpti_ActivityKernel10 ran_t;
#else
typedef CUpti_ActivityKernel9 ran_t;
#endif
static pthread_mutex_t flushing = PTHREAD_MUTEX_INITIALIZER;
static int ending;
static pid_t owner; /* a child made by fork has our callbacks and handlers, and neither our threads nor our record */

static void launched(const CUpti_CallbackData *data, const struct launch *l, CUstream stream, const char *flags)
{
    char begun[256], between[256];
    int per_thread = strstr(data->functionName, "_ptsz") != NULL;
    CUresult rc = *(CUresult *)data->functionReturnValue;
    int captured = rc == CUDA_SUCCESS && is_captured(stream, per_thread);
    int kernel = kernel_of(data->symbolName && *data->symbolName ? data->symbolName : symbol_of(l));
    if (rc == CUDA_SUCCESS && !captured)
        atomic_fetch_add(&head->of[kernel].launched, 1);
    see_device();
    if (!launch_in_full(kernel))
        return;
    snprintf(begun, sizeof begun, "L\t%d\t%u\t%ld\t%p", kernel, data->correlationId, syscall(SYS_gettid), (void *)stream);
    snprintf(between, sizeof between, "%s%s%s\t%d\t", flags, captured ? "captured," : "", per_thread ? "ptsz," : "", rc);
    say_launch(begun, l, between);
}

static void launched_with(const CUpti_CallbackData *data, const cuLaunchKernelEx_params *p)
{
    const CUlaunchConfig *c = p->config;
    struct launch l = { p->f, NULL, { c->gridDimX, c->gridDimY, c->gridDimZ }, { c->blockDimX, c->blockDimY, c->blockDimZ },
                        c->sharedMemBytes, p->kernelParams, p->extra };
    char flags[160] = "";
    for (unsigned i = 0; i < c->numAttrs; i++) {
        const CUlaunchAttribute *a = &c->attrs[i];
        if (a->id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE && a->value.cooperative)
            strcat(flags, strstr(flags, "cooperative") ? "" : "cooperative,");
        else if (a->id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION && !strstr(flags, "cluster"))
            sprintf(flags + strlen(flags), "cluster=%ux%ux%u,", a->value.clusterDim.x, a->value.clusterDim.y,
                    a->value.clusterDim.z);
    }
    launched(data, &l, c->hStream, flags);
}

static void graph_launched(const CUpti_CallbackData *data, const cuGraphLaunch_params *p)
{
    int per_thread = strstr(data->functionName, "_ptsz") != NULL;
    CUresult rc = *(CUresult *)data->functionReturnValue;
    int captured = rc == CUDA_SUCCESS && is_captured(p->hStream, per_thread);
    if (graph_in_full())
        say("G\t%p\t%u\t%ld\t%p\t%s%s\t%d\n", (void *)p->hGraph, data->correlationId, syscall(SYS_gettid),
            (void *)p->hStream, captured ? "captured," : "", per_thread ? "ptsz," : "", rc);
}

#define LAUNCH(p, more) \
    { (p)->f, NULL, { (p)->gridDimX, (p)->gridDimY, (p)->gridDimZ }, { (p)->blockDimX, (p)->blockDimY, (p)->blockDimZ }, \
      (p)->sharedMemBytes, (p)->kernelParams, more }
#define ID(name) CUPTI_DRIVER_TRACE_CBID_##name

static void launch_call(CUpti_CallbackId id, const CUpti_CallbackData *data)
{
    const void *p = data->functionParams;
    switch (id) {
    case ID(cuLaunchKernel): case ID(cuLaunchKernel_ptsz): {
        const cuLaunchKernel_params *k = p;
        struct launch l = LAUNCH(k, k->extra);
        launched(data, &l, k->hStream, k->extra && !k->kernelParams ? "extra," : "");
        return;
    }
    case ID(cuLaunchCooperativeKernel): case ID(cuLaunchCooperativeKernel_ptsz): {
        const cuLaunchCooperativeKernel_params *k = p;
        struct launch l = LAUNCH(k, NULL);
        launched(data, &l, k->hStream, "cooperative,");
        return;
    }
    case ID(cuLaunchKernelEx): case ID(cuLaunchKernelEx_ptsz):
        launched_with(data, p);
        return;
    case ID(cuGraphLaunch): case ID(cuGraphLaunch_ptsz):
        graph_launched(data, p);
        return;
    default: /* launches of CUDA 3, whose parameters were set by calls before, and of several devices at once */
        warn_of(data->functionName);
    }
}

/* A change of an executable graph; every way to instantiate one has the place of it first, then the graph. */
static void graph_call(CUpti_CallbackId id, const void *p)
{
    switch (id) {
    case ID(cuGraphInstantiate): case ID(cuGraphInstantiate_v2): case ID(cuGraphInstantiateWithFlags):
    case ID(cuGraphInstantiateWithParams): case ID(cuGraphInstantiateWithParams_ptsz): {
        const cuGraphInstantiateWithFlags_params *g = p;
        say("I\t%p\n", (void *)*g->phGraphExec);
        say_nodes(*g->phGraphExec, g->hGraph);
        return;
    }
    case ID(cuGraphExecUpdate): case ID(cuGraphExecUpdate_v2): {
        const cuGraphExecUpdate_v2_params *g = p;
        say("I\t%p\n", (void *)g->hGraphExec);
        say_nodes(g->hGraphExec, g->hGraph);
        return;
    }
    case ID(cuGraphExecKernelNodeSetParams_v2): {
        const cuGraphExecKernelNodeSetParams_v2_params *g = p;
        say_node(g->hGraphExec, g->hNode, g->nodeParams);
        return;
    }
    default:
        warn_of("graph parameters");
    }
}

static const CUpti_CallbackId LAUNCHES[] = {
    ID(cuLaunchKernel), ID(cuLaunchKernel_ptsz), ID(cuLaunchKernelEx), ID(cuLaunchKernelEx_ptsz),
    ID(cuLaunchCooperativeKernel), ID(cuLaunchCooperativeKernel_ptsz), ID(cuLaunchCooperativeKernelMultiDevice),
    ID(cuLaunch), ID(cuLaunchGrid), ID(cuLaunchGridAsync), ID(cuGraphLaunch), ID(cuGraphLaunch_ptsz),
};
static const CUpti_CallbackId GRAPHS[] = {
    ID(cuGraphInstantiate), ID(cuGraphInstantiate_v2), ID(cuGraphInstantiateWithFlags), ID(cuGraphInstantiateWithParams),
    ID(cuGraphInstantiateWithParams_ptsz), ID(cuGraphExecUpdate), ID(cuGraphExecUpdate_v2),
    ID(cuGraphExecKernelNodeSetParams), ID(cuGraphExecKernelNodeSetParams_v2), ID(cuGraphExecNodeSetParams),
};
enum { MANY_LAUNCHES = sizeof LAUNCHES / sizeof *LAUNCHES, MANY_GRAPHS = sizeof GRAPHS / sizeof *GRAPHS };

static void CUPTIAPI called(void *user, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void *given)
{
    int kept = errno;
    (void)user;
    if (getpid() != owner)
        return;
    if (domain == CUPTI_CB_DOMAIN_DRIVER_API && ((const CUpti_CallbackData *)given)->callbackSite == CUPTI_API_EXIT) {
        const CUpti_CallbackData *data = given;
        int of_graph = 0;
        for (int i = 0; i < MANY_GRAPHS; i++)
            of_graph |= GRAPHS[i] == id;
        if (!of_graph)
            launch_call(id, data);
        else if (*(CUresult *)data->functionReturnValue == CUDA_SUCCESS)
            graph_call(id, data->functionParams);
    } else if (domain == CUPTI_CB_DOMAIN_RESOURCE && id == CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED) {
        const CUpti_GraphData *g = ((const CUpti_ResourceData *)given)->resourceDescriptor;
        uint64_t clone, original;
        if (!cuptiGetGraphNodeId(g->node, &clone) && !cuptiGetGraphNodeId(g->originalNode, &original)
            && g->nodeType == CU_GRAPH_NODE_TYPE_KERNEL)
            say("C\t%llu\t%llu\n", (unsigned long long)clone, (unsigned long long)original);
    }
    errno = kept;
}

static void CUPTIAPI give_buffer(uint8_t **buffer, size_t *size, size_t *records)
{
    *records = 0;
    *size = posix_memalign((void **)buffer, 8, BUFFER) ? 0 : BUFFER;
}

static void CUPTIAPI take_buffer(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
    CUpti_Activity *next = NULL;
    size_t dropped = 0;
    (void)size;
    while (cuptiActivityGetNextRecord(buffer, valid, &next) == CUPTI_SUCCESS) {
        const ran_t *r = (const ran_t *)next;
        if (next->kind != CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL && next->kind != CUPTI_ACTIVITY_KIND_KERNEL)
            continue;
        int kernel = kernel_of(r->name ? r->name : "(no name)");
        atomic_fetch_add(&head->of[kernel].ran, 1);
        atomic_fetch_add(&head->of[kernel].ns, r->end - r->start);
        if (run_in_full(kernel))
            say("R\t%d\t%u\t%llu\t%llu\t%u\t%u\t%llu\t%d,%d,%d\t%d,%d,%d\n", kernel, r->correlationId,
                (unsigned long long)r->start, (unsigned long long)r->end, r->deviceId, r->streamId,
                (unsigned long long)r->graphNodeId, r->gridX, r->gridY, r->gridZ, r->blockX, r->blockY, r->blockZ);
    }
    if (cuptiActivityGetNumDroppedRecords(context, stream, &dropped) == CUPTI_SUCCESS && dropped)
        warn_of("dropped records");
    free(buffer);
}

/* Take the durations while the program runs, so that one that is killed leaves them; not once it is ending. */
static void *flush_often(void *none)
{
    for (int going = 1; going;) {
        usleep(FLUSH_US);
        pthread_mutex_lock(&flushing);
        if ((going = !ending))
            cuptiActivityFlushAll(0);
        pthread_mutex_unlock(&flushing);
    }
    return none;
}

static void start_flushing(void)
{
    sigset_t all, before;
    pthread_t thread;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* the program's signals are for its own threads */
    if (pthread_create(&thread, NULL, flush_often, NULL))
        say("W\tflush\n");
    else
        pthread_detach(thread);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void at_end(void)
{
    if (getpid() != owner)
        return;
    pthread_mutex_lock(&flushing);
    ending = 1;
    pthread_mutex_unlock(&flushing);
    if (cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED) != CUPTI_SUCCESS)
        say("W\tflush\n");
    append("Z\n", 2);
}

__attribute__((visibility("default"))) int InitializeInjection(void)
{
    static atomic_int begun;
    const char *folder = getenv("KPD_OBSERVE_DIR");
    CUpti_SubscriberHandle us;
    if (atomic_exchange(&begun, 1) || !folder || !make_record(folder))
        return 1;
    owner = getpid();
    find_driver();
    CUptiResult rc = cuptiSubscribe(&us, called, NULL);
    for (int i = 0; !rc && i < MANY_LAUNCHES + MANY_GRAPHS; i++)
        rc = cuptiEnableCallback(1, us, CUPTI_CB_DOMAIN_DRIVER_API, i < MANY_LAUNCHES ? LAUNCHES[i] : GRAPHS[i - MANY_LAUNCHES]);
    if (rc) {
        say("W\tcallbacks %d\n", rc);
        return 1;
    }
    cuptiEnableCallback(1, us, CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED);
    if ((rc = cuptiActivityRegisterCallbacks(give_buffer, take_buffer))
        || (rc = cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)))
        say("W\tdurations %d\n", rc);
    else
        start_flushing();
    atexit(at_end);
    return 1;
}
