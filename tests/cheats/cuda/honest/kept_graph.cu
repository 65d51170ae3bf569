//: transpose_cuda
//: keeps a graph for each size and sets the pointers of its node before each launch
//: use transpose_fast

struct kept {
    long rows, cols;
    cudaGraphExec_t exec;
    cudaGraphNode_t node;
};

void transpose(const float *in, float *out, long rows, long cols, cudaStream_t stream) {
    static kept graphs[32];
    static int used;
    int at = 0;
    while (at < used && (graphs[at].rows != rows || graphs[at].cols != cols)) at++;
    if (at == 32) return fast(in, out, rows, cols, stream);
    long blocks = (rows + 31) / 32 * ((cols + 31) / 32);
    void *arguments[] = {&in, &out, &rows, &cols};
    cudaKernelNodeParams node = {};
    node.func = (void *)tiles;
    node.gridDim = dim3((unsigned)blocks);
    node.blockDim = dim3(32, 8);
    node.kernelParams = arguments;
    kept *k = &graphs[at];
    if (at == used) {
        cudaGraph_t graph;
        cudaGraphCreate(&graph, 0);
        cudaGraphAddKernelNode(&k->node, graph, nullptr, 0, &node);
        cudaGraphInstantiate(&k->exec, graph, 0);
        k->rows = rows, k->cols = cols;
        used++;
    } else {
        cudaGraphExecKernelNodeSetParams(k->exec, k->node, &node);
    }
    cudaGraphLaunch(k->exec, stream);
}
