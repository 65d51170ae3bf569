/* Asks the driver that the program has loaded: the layout and bytes of parameters, names, graphs, captures, devices. */
#define _GNU_SOURCE
#include "record.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static CUresult (*func_param)(CUfunction, size_t, size_t *, size_t *);
static CUresult (*kernel_param)(CUkernel, size_t, size_t *, size_t *);
static CUresult (*func_name)(const char **, CUfunction);
static CUresult (*kernel_name)(const char **, CUkernel);
static CUresult (*capturing)(CUstream, CUstreamCaptureStatus *);
static CUresult (*current_device)(CUdevice *);
static CUresult (*device_name)(char *, int, CUdevice);
static CUresult (*graph_nodes)(CUgraph, CUgraphNode *, size_t *);
static CUresult (*node_type)(CUgraphNode, CUgraphNodeType *);
static CUresult (*node_params)(CUgraphNode, CUDA_KERNEL_NODE_PARAMS *);
static CUresult (*node_child)(CUgraphNode, CUgraph *);
static _Atomic uint64_t devices;

/* Find what the driver has of these: the first two came with 12.4. */
void find_driver(void)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    int version = 0;
    uint32_t loaded = 0;
    CUresult (*driver_version)(int *) = NULL;
    struct { void **place; const char *symbol; } all[] = {
        { (void **)&func_param, "cuFuncGetParamInfo" }, { (void **)&kernel_param, "cuKernelGetParamInfo" },
        { (void **)&func_name, "cuFuncGetName" }, { (void **)&kernel_name, "cuKernelGetName" },
        { (void **)&capturing, "cuStreamIsCapturing" }, { (void **)&current_device, "cuCtxGetDevice" },
        { (void **)&device_name, "cuDeviceGetName" }, { (void **)&graph_nodes, "cuGraphGetNodes" },
        { (void **)&node_type, "cuGraphNodeGetType" }, { (void **)&node_params, "cuGraphKernelNodeGetParams_v2" },
        { (void **)&node_child, "cuGraphChildGraphNodeGetGraph" }, { (void **)&driver_version, "cuDriverGetVersion" },
    };
    for (size_t i = 0; driver && i < sizeof all / sizeof *all; i++)
        *all[i].place = dlsym(driver, all[i].symbol);
    if (driver_version)
        driver_version(&version);
    cuptiGetVersion(&loaded);
    say("H\t%ld\t%d\t%u\t%d\t%s\n", (long)getpid(), CUPTI_API_VERSION, loaded, version, program_invocation_short_name);
}

const char *symbol_of(const struct launch *l)
{
    const char *name = NULL;
    if (l->f && func_name && func_name(&name, l->f) == CUDA_SUCCESS && name)
        return name;
    if (kernel_name && kernel_name(&name, l->k ? l->k : (CUkernel)l->f) == CUDA_SUCCESS && name)
        return name;
    return "(no name)";
}

static char *hex(char *at, size_t offset, size_t size, const unsigned char *from)
{
    static const char digits[] = "0123456789abcdef";
    at += sprintf(at, "%zu:%zu:", offset, size);
    for (size_t i = 0; i < size; i++) {
        *at++ = digits[from[i] >> 4];
        *at++ = digits[from[i] & 15];
    }
    *at++ = ',';
    return at;
}

/* Return the buffer with all parameters that `extra` gives, and its size. */
static const unsigned char *packed(void **extra, size_t *size)
{
    const unsigned char *found = NULL;
    for (*size = 0; extra && *extra != CU_LAUNCH_PARAM_END; extra += 2) {
        if (*extra == CU_LAUNCH_PARAM_BUFFER_POINTER)
            found = extra[1];
        else if (*extra == CU_LAUNCH_PARAM_BUFFER_SIZE)
            *size = *(size_t *)extra[1];
        else
            return NULL;
    }
    return found;
}

/* Write the parameters. Only one of two calls knows the layout, as a CUfunction may be a CUkernel. */
static void parameters(char *at, const char *end, const struct launch *l)
{
    const char *begin = at;
    size_t room = 0, offset, size;
    const unsigned char *buffer = l->values ? NULL : packed(l->extra, &room);
    CUkernel k = l->k ? l->k : (CUkernel)l->f;
    CUresult rc = func_param && l->f ? func_param(l->f, 0, &offset, &size) : CUDA_ERROR_NOT_FOUND;
    int by_kernel = rc != CUDA_SUCCESS && rc != CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0;; i++) {
        if (by_kernel)
            rc = kernel_param ? kernel_param(k, i, &offset, &size) : CUDA_ERROR_NOT_FOUND;
        else
            rc = func_param(l->f, i, &offset, &size);
        if (rc != CUDA_SUCCESS)
            break;
        const unsigned char *from = l->values ? l->values[i] : buffer && offset + size <= room ? buffer + offset : NULL;
        if (!from || (size_t)(end - at) < 2 * size + 64) {
            strcpy(at, from ? "?too long" : "?missing");
            return;
        }
        at = hex(at, offset, size, from);
    }
    if (rc == CUDA_ERROR_NOT_FOUND && buffer && (size_t)(end - at) > 2 * room + 64)
        at = hex(stpcpy(at, "?packed "), 0, room, buffer); /* the layout is not known, the bytes are */
    else if (rc != CUDA_ERROR_INVALID_VALUE)
        at += sprintf(at, rc == CUDA_ERROR_NOT_FOUND ? "?driver," : "?error %d,", rc);
    else if (at == begin)
        at = stpcpy(at, "-,");
    at[-1] = 0;
}

/* Append a line: `begun`, the sizes, what comes `between`, the parameters. */
void say_launch(char *begun, const struct launch *l, const char *between)
{
    static _Thread_local char text[LINE];
    int length = snprintf(text, 1024, "%s\t%u,%u,%u\t%u,%u,%u\t%u\t%s", begun, l->grid[0], l->grid[1], l->grid[2],
                          l->block[0], l->block[1], l->block[2], l->shared, between);
    parameters(text + length, text + LINE - 2, l);
    strcat(text + length, "\n");
    append(text, strlen(text));
}

void see_device(void)
{
    CUdevice device;
    char name[256];
    if (!current_device || !device_name || current_device(&device) || device < 0 || device > 63)
        return;
    if (!(atomic_fetch_or(&devices, 1ull << device) >> device & 1) && !device_name(name, sizeof name, device))
        say("D\t%d\t%s\n", device, name);
}

/* Whether a graph takes up what is given to the stream, so that it does not run now. */
int is_captured(CUstream stream, int per_thread)
{
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    if (!stream && per_thread)
        stream = CU_STREAM_PER_THREAD;
    return capturing && capturing(stream, &status) == CUDA_SUCCESS && status == CU_STREAM_CAPTURE_STATUS_ACTIVE;
}

void say_node(CUgraphExec exec, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS *p)
{
    struct launch l = { p->func, p->kern, { p->gridDimX, p->gridDimY, p->gridDimZ },
                        { p->blockDimX, p->blockDimY, p->blockDimZ }, p->sharedMemBytes, p->kernelParams, p->extra };
    int kernel = kernel_of(symbol_of(&l));
    char text[256];
    uint64_t id = 0;
    if (!node_in_full(kernel))
        return;
    cuptiGetGraphNodeId(node, &id);
    snprintf(text, sizeof text, "N\t%p\t%llu\t%d", (void *)exec, (unsigned long long)id, kernel);
    say_launch(text, &l, "");
}

/* Append every kernel node of the graph and of those within it. */
void say_nodes(CUgraphExec exec, CUgraph graph)
{
    size_t count = 0;
    CUgraphNode *nodes = NULL;
    if (!graph_nodes || !node_type || !node_params || graph_nodes(graph, NULL, &count) || !count
        || !(nodes = calloc(count, sizeof *nodes)) || graph_nodes(graph, nodes, &count))
        count = 0;
    for (size_t i = 0; i < count; i++) {
        CUgraphNodeType type;
        CUDA_KERNEL_NODE_PARAMS params;
        CUgraph child;
        if (node_type(nodes[i], &type))
            continue;
        if (type == CU_GRAPH_NODE_TYPE_KERNEL && !node_params(nodes[i], &params))
            say_node(exec, nodes[i], &params);
        else if (type == CU_GRAPH_NODE_TYPE_GRAPH && node_child && !node_child(nodes[i], &child))
            say_nodes(exec, child);
        else if ((int)type == 13) /* CU_GRAPH_NODE_TYPE_CONDITIONAL, which older headers lack */
            warn_of("conditional");
    }
    free(nodes);
}
