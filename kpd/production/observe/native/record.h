/* The record of one process: what the library writes, and kpd reads.

   One file NAME.record in the folder KPD_OBSERVE_DIR, mapped into memory: it survives a program that is killed, needs no
   descriptor that a program could close, and no system call for each launch. Its disk space is reserved first, as a full
   disk would end the program. It is `struct head`, then lines of fields between tabs; sizes are in bytes, times in ns:

     H pid, CUPTI's version as built and as loaded, driver's version, program      D device, its name
     K kernel, its symbol                                                          W what cannot be had
     L kernel, correlation, thread, stream, grid, block, shared, flags, result, parameters       (a launch)
     R kernel, correlation, start, end, device, stream, graph node, grid, block                  (a kernel ran)
     I executable graph: the nodes that follow are all that it has     C clone, original (ids of nodes)
     N executable graph, node, kernel, grid, block, shared, parameters
     G executable graph, correlation, thread, stream, flags, result    Z the program ended by itself

   Parameters are OFFSET:SIZE:HEX with commas between, "-" for none, or "?" and the reason why they are not known. */
#pragma once
#include <cupti.h>
#if CUDA_VERSION < 12000
#error "the CUDA toolkit is older than 12.0"
#endif
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

enum { KERNELS = 4096, LINE = 72 << 10 };

/* What is counted of each kernel, whether or not it is recorded in full: successful launches, runs, their time. */
struct counts { _Atomic uint64_t launched, ran, ns; };
struct head {
    char magic[8];
    _Atomic uint64_t used;
    uint64_t room;
    struct counts of[KERNELS];
};
extern struct head *head;

int make_record(const char *folder);
void append(const char *text, size_t length);
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));
void warn_of(const char *what);
int kernel_of(const char *symbol);
int launch_in_full(int kernel);
int run_in_full(int kernel);
int node_in_full(int kernel);
int graph_in_full(void);

/* A launch, or a node of a graph. A function can be given as a CUfunction or as a CUkernel. */
struct launch {
    CUfunction f;
    CUkernel k;
    unsigned grid[3], block[3], shared;
    void **values, **extra;
};

void find_driver(void);
const char *symbol_of(const struct launch *l);
void say_launch(char *begun, const struct launch *l, const char *between);
void see_device(void);
int is_captured(CUstream stream, int per_thread);
void say_nodes(CUgraphExec exec, CUgraph graph);
void say_node(CUgraphExec exec, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS *p);
